"""A model gets a loss, gradients and an optimizer, and learns."""

import numpy as np
import tvm
from tvm import relax
from tvm.relax.training import SetupTrainer, Trainer
from tvm.relax.training.loss import MSELoss
from tvm.relax.training.optimizer import SGD
from tvm.script import ir as I
from tvm.script import relax as R


@I.ir_module
class Model:
    I.module_attrs({"param_num": 1, "state_num": 0})

    @R.function
    def backbone(x: R.Tensor((4, 2), "float32"), w: R.Tensor((2, 1), "float32")):
        with R.dataflow():
            y = R.matmul(x, w)
            R.output(y)
        return y


def test_a_line_is_learnt():
    pred = relax.TensorType((4, 1), "float32")
    mod = SetupTrainer(MSELoss(reduction="mean"), SGD(0.1), [pred, pred])(Model)
    assert {"backbone", "backbone_loss", "backbone_loss_adjoint", "optimizer"} <= {var.name_hint for var in mod.get_global_vars()}
    machine = relax.VirtualMachine(relax.build(mod, "llvm"), tvm.cpu())
    trainer = Trainer(mod, machine, tvm.cpu())
    x = np.array([[1, 0], [0, 1], [1, 1], [2, 1]], "float32")
    wanted = x @ np.array([[2], [-1]], "float32")
    losses = [float(trainer.update(x, wanted).numpy()) for _ in range(200)]
    assert losses[0] > 1 > 1e-3 > losses[-1]
    found = trainer.export_params()["w"].numpy()
    assert np.abs(found - np.array([[2], [-1]])).max() < 0.05
