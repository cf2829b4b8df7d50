//! Rules of Relax about its operators: the type of a call, the layouts it takes, its gradient.

pub mod deduce;
pub mod gradient;
pub mod layout;
