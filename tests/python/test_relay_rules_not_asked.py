"""A rule that no pass asks says so when it is registered."""

import pytest
from tvm import relay


@pytest.mark.parametrize("register", ["register_infer_correct_layout", "register_mixed_precision_conversion", "register_gradient"])
def test_a_rule_that_no_pass_asks_is_said_to_be_kept_only(register):
    with pytest.warns(UserWarning, match="nn.relu: the rule for .* do not ask it"):
        getattr(relay.op.op, register)("nn.relu", lambda *args: None, level=15)
