//! Passes over Relay programs.
