//! Rules of Relax for its operators: the type of a call, its layouts, its gradient.

pub mod deduce;
pub mod gradient;
pub mod layout;
