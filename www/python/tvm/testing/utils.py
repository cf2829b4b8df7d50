"""Helpers of tests."""

import inspect
import sys


def assert_allclose(actual, desired, rtol=1e-7, atol=1e-7):
    """Raises AssertionError unless all elements are about equal."""
    import numpy as np

    actual, desired = np.asarray(actual), np.asarray(desired)
    np.testing.assert_allclose(actual.shape, desired.shape)
    np.testing.assert_allclose(actual, desired, rtol=rtol, atol=atol, verbose=True)


def assert_prim_expr_equal(lhs, rhs):
    """Raises AssertionError unless two scalars are equal for all values of their variables."""
    from ..sym import Analyzer

    if not Analyzer().can_prove_equal(lhs, rhs):
        raise AssertionError(f"{lhs} and {rhs} are not equal")


def _derivative(function, values, name, at, delta):
    """The derivative of a function by one element, by differences (five points)."""

    def moved(step):
        import numpy as np

        flat = np.array(values[name]).reshape(-1).copy()
        flat[at] = flat[at] + step
        return float(function(**{**values, name: flat.reshape(values[name].shape)}))

    slope = lambda step: (moved(step) - moved(-step)) / (2 * step)  # noqa: E731
    return (4 * slope(delta / 2) - slope(delta)) / 3


def check_numerical_grads(function, input_values, grad_values, function_value=None, delta=1e-3, atol=1e-2, rtol=0.1):
    """Raises AssertionError unless gradients are about what differences of the function's values say."""
    import numpy as np

    _ = function_value
    if not isinstance(input_values, dict):
        count, by_place = len(input_values), function
        input_values = {str(at): value for at, value in enumerate(input_values)}
        grad_values = {str(at): value for at, value in enumerate(grad_values)}
        function = lambda **given: by_place(*(given[str(at)] for at in range(count)))  # noqa: E731
    for name, grad in grad_values.items():
        shape = input_values[name].shape
        if grad.shape != shape:
            raise AssertionError(f"Gradient wrt '{name}' has unexpected shape {grad.shape}, expected {shape}")
        found = np.array([_derivative(function, input_values, name, at, delta) for at in range(int(np.prod(shape)))])
        given = np.array(grad).reshape(-1)
        distance, norm = float(np.sqrt(np.sum((found - given) ** 2))), float(np.sqrt(np.sum(found**2)))
        if not (np.isfinite(distance) and np.isfinite(norm)):
            raise ValueError(f"NaN or infinity detected during numerical gradient checking wrt '{name}'")
        limit = atol * float(np.sqrt(len(given))) + rtol * norm
        if distance > limit:
            raise AssertionError(
                f"Analytical and numerical grads wrt '{name}' differ too much\n"
                f"analytical grad = {given}\n numerical grad = {found}\ndistance {distance} > {limit}"
            )


def parameter(*values, ids=None, by_dict=None):
    """A fixture with several values."""
    import pytest

    if by_dict:
        ids, values = list(by_dict), list(by_dict.values())

    @pytest.fixture(params=values, ids=ids)
    def fixture(*_of_class, request):
        return request.param

    return fixture


def parameters(*value_sets, ids=None):
    """Fixtures whose values belong together."""
    import pytest

    made = []
    names = ids or [str(index) for index in range(len(value_sets))]
    for place in range(len(value_sets[0])):

        def make(place):
            @pytest.fixture(params=[item[place] for item in value_sets], ids=names)
            def fixture(*_of_class, request):
                return request.param

            return fixture

        made.append(make(place))
    return made


def fixture(func=None, *, cache_return_value=False):
    """A fixture."""
    import pytest

    return pytest.fixture(func) if func is not None else pytest.fixture


def main():
    """Runs the tests of the file that calls."""
    import pytest

    path = inspect.currentframe().f_back.f_globals["__file__"]
    sys.exit(pytest.main([path, *sys.argv[1:]]))


def _skip(*args, **kwargs):
    import pytest

    mark = pytest.mark.skip(reason="there is no such device here")
    if len(args) == 1 and callable(args[0]):
        return mark(args[0])
    return mark


requires_gpu = requires_cuda = requires_llvm_minimum_version = requires_nvptx = requires_rocm = _skip
requires_opencl = requires_vulkan = requires_metal = requires_hexagon = requires_cudnn = requires_cublas = _skip


def requires_llvm(func=None, *args):
    """The evaluator stands for a processor."""
    return func if func is not None else (lambda inner: inner)


requires_package = lambda *args: lambda func: func  # noqa: E731
uses_gpu = slow = lambda func=None, *args: func  # noqa: E731


def enabled_targets():
    """Targets that programs can be run for."""
    from ..runtime.device import cpu

    return [("llvm", cpu(0))]


def device_enabled(target):
    """True if programs can be run for a target."""
    return str(target).split()[0] in ("llvm", "cpu", "c")


def parametrize_targets(*args):
    """Runs a test for the target that there is."""
    import pytest

    mark = pytest.mark.parametrize("target,dev", enabled_targets())
    return mark(args[0]) if len(args) == 1 and callable(args[0]) else mark


def object_use_count(obj):
    """The number of uses of an object: the one of the caller."""
    return 1


def strtobool(value):
    """A truth value of a text."""
    return str(value).lower() in ("1", "true", "yes", "on")


def is_ampere_or_newer():
    """There is no such device here."""
    return False


def device_test(*args):
    """There is no device."""
    return _skip(*args)


def skip_if_32bit(reason=""):
    """Runs the test."""
    return lambda func: func


def is_finite(value):
    """True if a number is finite."""
    return value == value and abs(value) != float("inf")
