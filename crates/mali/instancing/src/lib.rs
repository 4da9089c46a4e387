//! Mali's instancing arithmetic: padded vertex counts and division by constants.
