"""Parts that training adds to a model: a loss, gradients, an optimizer, and a loop around them."""

from . import loss, optimizer, utils
from .setup_trainer import SetupTrainer
from .trainer import Trainer
from .utils import AppendLoss
