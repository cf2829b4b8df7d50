"""Elements by the mean and the variance of a channel (`python/tvm/topi/nn/batch_norm.py`)."""


def batch_norm(data, gamma, beta, moving_mean, moving_var, axis=None, epsilon=None, center=None, scale=None, training=None, momentum=None):
    """The elements less the mean, divided by the deviation, scaled and moved; and the means and variances to go on with. Those of the
    elements themselves count in a training."""
    from . import reshape, sqrt, sum as total

    axis, epsilon, momentum = (1 if axis is None else axis), (1e-5 if epsilon is None else epsilon), (0.1 if momentum is None else momentum)
    rank = len(data.shape)
    axis = axis + rank if axis < 0 else axis
    shape = [data.shape[axis] if at == axis else 1 for at in range(rank)]
    mean, variance = moving_mean, moving_var
    if training:
        if not 0 <= momentum <= 1:
            raise AssertionError("the valid momentum range is [0, 1].")
        others, count = [at for at in range(rank) if at != axis], 1
        for at in others:
            count = count * data.shape[at]
        mean = total(data, axis=others) / count
        centered = reshape(mean, shape)
        variance = total((data - centered) * (data - centered), axis=others) / count
    else:
        centered = reshape(mean, shape)
    deviation = reshape(variance, shape)
    made = (data - centered) / sqrt(deviation + epsilon)
    if scale is None or scale:
        made = made * reshape(gamma, shape)
    if center is None or center:
        made = made + reshape(beta, shape)
    if not training:
        return [made, moving_mean * 1, moving_var * 1]
    return [made, (1 - momentum) * moving_mean + momentum * mean, (1 - momentum) * moving_var + momentum * variance]
