//! Options that a configuration file may have, too: kept as they were given until it is read.

use std::marker::PhantomData;

use clap::{ArgMatches, Args, Command, Error, FromArgMatches};

/// What flags and environment say of the settings of a type.
pub(crate) struct Given<T> {
    pub(crate) matches: ArgMatches,
    of: PhantomData<T>,
}

impl<T: Args> FromArgMatches for Given<T> {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        Ok(Self {
            matches: matches.clone(),
            of: PhantomData,
        })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        self.matches = matches.clone();
        Ok(())
    }
}

impl<T: Args> Args for Given<T> {
    fn augment_args(command: Command) -> Command {
        T::augment_args(command)
    }

    fn augment_args_for_update(command: Command) -> Command {
        T::augment_args_for_update(command)
    }
}
