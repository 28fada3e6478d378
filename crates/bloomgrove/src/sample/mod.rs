//! Items back out of a filter: draw members of a namespace, or list them all.
