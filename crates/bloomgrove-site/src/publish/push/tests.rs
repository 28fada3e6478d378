use super::*;

#[test]
fn waits_grow_up_to_a_limit() {
    for period in [Duration::from_millis(50), Duration::from_secs(10)] {
        for failures in 1..100 {
            let wait = back_off(period, failures);
            assert!(wait <= LONGEST && wait >= period.min(Duration::from_secs(1)) / 2);
        }
        assert!(back_off(period, 50) >= LONGEST / 2 || period < Duration::from_secs(1));
    }
}
