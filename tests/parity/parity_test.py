"""Outputs, loss, gradients and ten Adam updates of the engine against Keras 3 and PyTorch, from the same weights; ten updates
of the other optimizers and schedules against Keras 3.

  python parity_test.py build/plimsoll build            everything
  python parity_test.py --peers-only                    Keras against PyTorch and the controls; needs no engine
  (further arguments go to unittest: -v, -k NAME)

Tolerances: loss, outputs and gradients of the first batch to 1e-5 of the tensor's largest value, and to 1e-5 absolute
(both must hold); the losses of ten updates to 1e-4. The peers are held to the same tolerances against each other, and
controls with seeded mistakes must be reported, so that the comparison itself is known to notice them.
"""
import concurrent.futures
import dataclasses
import functools
import json
import multiprocessing
import os
import subprocess
import sys
import tempfile
import unittest

import numpy as np
import safetensors.numpy

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import peers  # noqa: E402
from peers import Case  # noqa: E402

UPDATES = 10
TOLERANCE = 1e-5
NORMALISED_TOLERANCE = 3e-5  # with layer_normalization in an LSTM, which divides by small deviations at every step
LOSS_TOLERANCE = 1e-4
# Adam divides by the gradient's own size, so where a gradient is nearly zero its rounding decides the direction. The
# weights are therefore judged by how far they moved: the difference is at most this share of the movement (norms); the
# peers are within 2e-5 of each other.
MOVEMENT_TOLERANCE = 1e-3
OPTIMIZER_TOLERANCE = 1e-4  # the same for the cases of optimizers and schedules

LSTM, HEAD = {"type": "LSTM", "units": 17}, {"type": "Dense", "units": 7}
GRU, RNN = {"type": "GRU", "units": 17}, {"type": "SimpleRNN", "units": 17}
VALUE = {"type": "Dense", "units": 1}
EMBEDDING = {"type": "Embedding", "output_dim": 11}
TIED = {"type": "Dense", "units": 23, "tied_to": "embedding"}


def dense(units, activation):
    return {"type": "Dense", "units": units, "activation": activation}


def pooling(mode):
    return {"type": "Pooling", "mode": mode}


def merged(kind, *inputs):
    return {"type": kind, "inputs": list(inputs)}


# Sizes are odd on purpose: no width is a multiple of a vector, no batch one of a tile.
CASES = [
    Case("features_last_state", [LSTM, HEAD], features=5),
    Case("ids_last_state", [EMBEDDING, LSTM, HEAD], vocabulary=23),
    Case("seventy_rows", [EMBEDDING, LSTM, HEAD], vocabulary=23, samples=150, batch_size=70),
    Case("two_layers", [LSTM, {"type": "LSTM", "units": 13}, HEAD], features=5),
    Case("mean_pooling_relu", [LSTM, pooling("mean"), dense(19, "relu"), HEAD], features=5),
    Case("max_pooling_tanh", [EMBEDDING, LSTM, pooling("max"), dense(19, "tanh"), HEAD], vocabulary=23),
    Case("last_pooling_sigmoid", [LSTM, pooling("last"), dense(19, "sigmoid"), HEAD], features=5),
    Case("per_step_classes_two_layers", [EMBEDDING, LSTM, LSTM, HEAD], vocabulary=23, per_step=True),
    Case("value_per_sample", [LSTM, dense(9, "tanh"), VALUE], task="regress", features=5),
    Case("value_per_step", [LSTM, dense(9, "relu"), VALUE], task="regress", features=5, per_step=True),
    Case("dense_below_and_between", [dense(6, "tanh"), LSTM, dense(12, "sigmoid"), {"type": "LSTM", "units": 33}, HEAD],
         features=5, per_step=True),
    Case("equal_lengths", [LSTM, HEAD], features=5, ragged=False, longest=31),
    Case("every_length_one", [LSTM, HEAD], features=5, lengths=[1]),
    Case("one_row_a_batch", [EMBEDDING, LSTM, HEAD], vocabulary=23, samples=7, batch_size=1, longest=29),
    Case("lstm_without_bias", [{**LSTM, "use_bias": False}, HEAD], features=5),
    Case("gru", [EMBEDDING, GRU, HEAD], vocabulary=23),
    Case("gru_two_layers_per_step", [GRU, {"type": "GRU", "units": 40}, HEAD], features=5, per_step=True),
    Case("gru_without_bias", [{**GRU, "use_bias": False}, HEAD], features=5),
    Case("rnn", [EMBEDDING, RNN, HEAD], vocabulary=23),
    Case("rnn_two_layers_per_step", [RNN, {"type": "SimpleRNN", "units": 40}, HEAD], features=5, per_step=True),
    Case("rnn_without_bias", [{**RNN, "use_bias": False}, HEAD], features=5),
    Case("every_cell", [EMBEDDING, RNN, LSTM, GRU, HEAD], vocabulary=23),
    Case("residual", [LSTM, LSTM, merged("Add", "lstm", "lstm_1"), GRU, merged("Multiply", "gru", "add", "lstm"), HEAD],
         features=5, per_step=True),
    Case("skips_into_the_head", [EMBEDDING, LSTM, merged("Concatenate", "lstm", "embedding"), dense(9, "tanh"),
                                 merged("Concatenate", "dense", "concatenate", "lstm"), HEAD], vocabulary=23, per_step=True),
    Case("tied", [EMBEDDING, LSTM, dense(11, "tanh"), TIED], vocabulary=23, classes=23, per_step=True),
    Case("tied_pooled", [EMBEDDING, {"type": "GRU", "units": 11}, pooling("mean"), TIED], vocabulary=23, classes=20),
    Case("two_poolings_of_two_branches",
         [LSTM, pooling("mean"), {**pooling("max"), "inputs": ["lstm"]}, {**GRU, "inputs": ["input"]}, pooling("last"),
          merged("Multiply", "pooling", "pooling_2"), merged("Concatenate", "multiply", "pooling_1"), HEAD], features=5),
]
# Against PyTorch alone: Keras has no such layer.
TORCH_CASES = [
    Case("projected", [EMBEDDING, {**LSTM, "proj_size": 5}, HEAD], vocabulary=23),
    Case("projected_two_layers_per_step", [{**LSTM, "proj_size": 11}, {"type": "LSTM", "units": 50, "proj_size": 35}, HEAD],
         features=5, per_step=True),
    Case("truncated", [EMBEDDING, LSTM, LSTM, HEAD], vocabulary=23, per_step=True, train={**Case.adam(), "truncate": 7}),
    Case("truncated_at_a_block", [GRU, {**LSTM, "proj_size": 5}, HEAD], features=5, train={**Case.adam(), "truncate": 16}),
    Case("truncated_to_one_step", [RNN, GRU, HEAD], features=5, train={**Case.adam(), "truncate": 1}),
    Case("normalised_lstm", [EMBEDDING, {**LSTM, "layer_normalization": True}, HEAD], vocabulary=23),
    Case("normalised_lstm_two_layers_per_step",
         [{**LSTM, "layer_normalization": True}, {"type": "LSTM", "units": 40, "layer_normalization": True, "epsilon": 0.01}, HEAD],
         features=5, per_step=True),
    Case("normalised_lstm_without_bias", [{**LSTM, "layer_normalization": True, "use_bias": False}, HEAD], features=5),
    Case("normalised_lstm_mean_seventy_rows", [EMBEDDING, {**LSTM, "layer_normalization": True}, pooling("mean"), HEAD], vocabulary=23,
         samples=150, batch_size=70),
    Case("normalised_lstm_truncated", [{**LSTM, "layer_normalization": True}, HEAD], features=5, per_step=True,
         train={**Case.adam(), "truncate": 7}),
    Case("projected_without_bias", [{**LSTM, "proj_size": 16, "use_bias": False}, HEAD], features=5),
    Case("projected_mean_seventy_rows", [EMBEDDING, {**LSTM, "proj_size": 1}, pooling("mean"), HEAD], vocabulary=23, samples=150,
         batch_size=70),
]
CTC = {**Case.adam(), "loss": "ctc"}
TORCH_CASES += [
    Case("ctc", [LSTM, HEAD], features=5, train=CTC),
    Case("ctc_two_layers_seventy_rows", [EMBEDDING, GRU, LSTM, HEAD], vocabulary=23, samples=150, batch_size=70, train=CTC),
    Case("ctc_one_label", [EMBEDDING, LSTM, {"type": "Dense", "units": 2}], vocabulary=23, classes=2, train=CTC),
    Case("ctc_weights_of_samples", [GRU, HEAD], features=5, weighted=True, train=CTC),
]
# Against Keras alone: PyTorch has no such layer.
KERAS_CASES = [
    Case("gru_before", [EMBEDDING, {**GRU, "reset_after": False}, HEAD], vocabulary=23),
    Case("gru_before_two_layers_per_step", [{**GRU, "reset_after": False}, {"type": "GRU", "units": 40, "reset_after": False}, HEAD],
         features=5, per_step=True),
    Case("weights_of_samples", [LSTM, dense(9, "tanh"), VALUE], task="regress", features=5, per_step=True, weighted=True),
    Case("weights_of_samples_and_classes", [EMBEDDING, LSTM, HEAD], vocabulary=23, weighted=True,
         train={**Case.adam(), "class_weight": [0.5, 2.0, 0.0, 1.0, 3.0, 1.0, 0.25]}),
    Case("convolutions", [EMBEDDING, {"type": "Conv1D", "filters": 9, "kernel_size": 3, "activation": "relu"}, LSTM,
                          {"type": "Conv1D", "filters": 13, "kernel_size": 2, "dilation_rate": 17, "use_bias": False}, HEAD],
         vocabulary=23, per_step=True),
    Case("state_returned", [{**LSTM, "return_state": True}, {**HEAD, "inputs": ["lstm_state"]}], features=5),
    Case("state_returned_beside_steps",
         [EMBEDDING, {**LSTM, "return_state": True}, {**GRU, "return_state": True},
          merged("Concatenate", "gru_state", "lstm_state"), HEAD], vocabulary=23),
    Case("state_of_the_data", [{**LSTM, "initial_state": "data"}, {**GRU, "initial_state": "data"}, HEAD], features=5, per_step=True,
         state_width=51),
    Case("state_of_the_data_rnn", [EMBEDDING, {**RNN, "initial_state": "data"}, HEAD], vocabulary=23, state_width=17),
    Case("stateful", [{**LSTM, "stateful": True}, {**GRU, "stateful": True}, HEAD], features=5, per_step=True, ragged=False,
         longest=19, samples=45),
    Case("gru_before_without_bias", [{**GRU, "reset_after": False, "use_bias": False}, HEAD], features=5),
]


HEADS = [EMBEDDING, LSTM, {**pooling("mean"), "inputs": ["lstm"]}, {"type": "Dense", "units": 2, "name": "mood"},
         {"type": "Dense", "units": 7, "name": "tags", "inputs": ["lstm"]}]
TAGS = {"layer": "tags", "per_step": True, "classes": 7}
KERAS_CASES += [
    Case("two_outputs", HEADS, vocabulary=23, per_step=True, outputs=[TAGS, {"layer": "mood", "width": 2}]),
    Case("two_outputs_weighted", HEADS, vocabulary=23, per_step=True, weighted=True,
         outputs=[{"layer": "mood", "width": 2, "loss": "binary_crossentropy", "loss_weight": 3.0}, {**TAGS, "loss_weight": 0.25}]),
    Case("three_outputs", [LSTM, {"type": "Dense", "units": 9, "activation": "tanh", "name": "shared"}, {"type": "Dense", "units": 7, "name": "tags"},
                           {"type": "Dense", "units": 3, "name": "values", "inputs": ["shared"]},
                           {"type": "Dense", "units": 5, "name": "more", "inputs": ["lstm"]}], features=5, per_step=True,
         outputs=[TAGS, {"layer": "values", "per_step": True, "width": 3, "loss": "huber", "loss_weight": 2.0},
                  {"layer": "more", "per_step": True, "classes": 5, "loss_weight": 0.5}]),
]


# Against Keras alone: PyTorch adds epsilon elsewhere. Where no learning rate is stated, the default is compared as well.
# The schedules of a run of ten updates.
def optimizer_case(name, optimizer, **settings):
    return Case(name, [EMBEDDING, LSTM, HEAD], vocabulary=23, updates=UPDATES, train={"optimizer": optimizer, **settings})


KERAS_CASES += [Case(f"lstm_{activation}", [{**LSTM, "activation": activation}, HEAD], features=5)
                for activation in ("relu", "softsign", "elu", "leaky_relu", "sigmoid")]
BACKWARDS = {"go_backwards": True}
KERAS_CASES += [
    Case("lstm_backwards", [{**LSTM, **BACKWARDS}, HEAD], features=5),
    Case("gru_backwards_per_step", [EMBEDDING, {**GRU, **BACKWARDS}, HEAD], vocabulary=23, per_step=True),
    Case("rnn_backwards_equal_lengths", [dense(6, "tanh"), {**RNN, **BACKWARDS}, LSTM, HEAD], features=5, per_step=True, ragged=False,
         longest=31),
    Case("gru_before_backwards", [{**GRU, **BACKWARDS, "reset_after": False}, GRU, pooling("mean"), HEAD], features=5),
    Case("lstm_hard_sigmoid", [{**LSTM, "recurrent_activation": "hard_sigmoid"}, HEAD], features=5),
    Case("gru_hard_sigmoid_relu", [{**GRU, "recurrent_activation": "hard_sigmoid", "activation": "relu"}, HEAD], features=5),
    Case("rnn_relu", [{**RNN, "activation": "relu"}, HEAD], features=5),
    Case("dense_activations", [LSTM, dense(9, "elu"), dense(8, "softsign"), dense(9, "leaky_relu"), dense(8, "hard_sigmoid"), HEAD],
         features=5),
    Case("normalised", [LSTM, {"type": "LayerNormalization"}, {"type": "Activation", "activation": "elu"}, GRU, HEAD], features=5),
]


def loss_case(name, **settings):
    return Case(name, [LSTM, VALUE], task="regress", features=5, per_step=True, train={**Case.adam(), **settings})


KERAS_CASES += [
    loss_case("mean_absolute_error", loss="mean_absolute_error"),
    loss_case("huber", loss="huber", huber_delta=0.4),
    loss_case("binary_crossentropy", loss="binary_crossentropy"),
    loss_case("binary_crossentropy_smoothed", loss="binary_crossentropy", label_smoothing=0.2),
    Case("crossentropy_smoothed", [EMBEDDING, LSTM, HEAD], vocabulary=23, train={**Case.adam(), "label_smoothing": 0.2}),
]


STILL = {"trainable": False}
KERAS_CASES += [
    Case("frozen_embedding", [{**EMBEDDING, **STILL}, LSTM, HEAD], vocabulary=23),
    Case("frozen_between", [EMBEDDING, {**LSTM, **STILL}, GRU, {**dense(9, "tanh"), **STILL}, HEAD], vocabulary=23, per_step=True),
    Case("frozen_below", [{**LSTM, **STILL}, {**dense(6, "tanh"), **STILL}, GRU, HEAD], features=5),
    Case("frozen_head", [LSTM, {"type": "LayerNormalization"}, {**HEAD, **STILL}], features=5),
]
KERAS_CASES += [
    Case("penalties", [{**EMBEDDING, "embeddings_l1": 0.002, "embeddings_l2": 0.003},
                       {**LSTM, "kernel_l1": 0.001, "kernel_l2": 0.002, "recurrent_l2": 0.003, "bias_l1": 0.002},
                       {**GRU, "recurrent_l1": 0.002, "bias_l2": 0.004}, {**HEAD, "kernel_l2": 0.005, "bias_l1": 0.01}], vocabulary=23),
]

OPTIMIZER_CASES = [
    optimizer_case("adam", "adam"),
    optimizer_case("adam_clip_norm", "adam", clip_norm=1e-4),
    optimizer_case("adamw", "adamw"),
    optimizer_case("adamw_strong", "adamw", weight_decay=0.4, learning_rate=0.01),
    optimizer_case("sgd", "sgd"),
    optimizer_case("sgd_momentum", "sgd", momentum=0.9),
    optimizer_case("sgd_nesterov", "sgd", momentum=0.9, nesterov=True),
    optimizer_case("sgd_clip_norm", "sgd", clip_norm=0.05),
    optimizer_case("sgd_clip_tensor_norm", "sgd", clip_tensor_norm=0.02),
    optimizer_case("sgd_clip_value", "sgd", clip_value=0.01),
    optimizer_case("rmsprop", "rmsprop"),
    optimizer_case("rmsprop_rho", "rmsprop", rho=0.5, epsilon=1e-3),
    optimizer_case("adagrad", "adagrad"),
    optimizer_case("adagrad_start", "adagrad", initial_accumulator_value=1e-3, learning_rate=0.01),
    optimizer_case("linear", "sgd", lr_schedule="linear", learning_rate=0.1),
    optimizer_case("cosine", "sgd", lr_schedule="cosine", learning_rate=0.1, lr_end_factor=0.1),
    optimizer_case("cosine_warmup", "sgd", lr_schedule="cosine", learning_rate=0.1, warmup_steps=4),
    optimizer_case("polynomial", "sgd", lr_schedule="polynomial", learning_rate=0.1, lr_power=2.0, lr_end_factor=0.1),
    optimizer_case("step", "sgd", lr_schedule="step", learning_rate=0.1, lr_decay_steps=3, lr_decay_rate=0.5),
    optimizer_case("exponential", "sgd", lr_schedule="exponential", learning_rate=0.1, lr_decay_steps=3, lr_decay_rate=0.5),
]
WITH_KERAS = CASES + KERAS_CASES + OPTIMIZER_CASES
CASE = {case.name: case for case in WITH_KERAS + TORCH_CASES}


def differences(got, want, start, movement=MOVEMENT_TOLERANCE, tolerance=TOLERANCE):
    """What differs beyond the tolerances, as one line a tensor; empty when the two agree. `start`: the first weights."""
    found = [f"{name}: only on one side" for name in sorted(got.keys() ^ want.keys())]
    for name in sorted(got.keys() & want.keys()):
        a, b = np.asarray(got[name], np.float64), np.asarray(want[name], np.float64)
        if a.shape != b.shape:
            found.append(f"{name}: shape {a.shape}, wanted {b.shape}")
            continue
        if not (np.isfinite(a).all() and np.isfinite(b).all()):
            found.append(f"{name}: not finite")
            continue
        if name == "loss":
            first, later = abs(a[0] - b[0]), np.abs(a - b).max()
            if first > tolerance * min(1.0, abs(b[0])):
                found.append(f"loss: first batch {a[0]:.8f}, wanted {b[0]:.8f}")
            if later > LOSS_TOLERANCE:
                found.append(f"loss: differs by {later:.2e} within {len(b)} updates")
        elif name.startswith("weights."):
            moved = np.linalg.norm(b - start[name.removeprefix("weights.")])  # 0 of a layer that does not learn
            if np.linalg.norm(a - b) > movement * moved:
                found.append(f"{name}: differs by {np.linalg.norm(a - b):.2e} where it moved by {moved:.2e}")
        else:
            error, largest = np.abs(a - b).max(), np.abs(b).max()
            if error > tolerance * min(1.0, largest):
                found.append(f"{name}: differs by {error:.2e}, largest value {largest:.2e}")
    return found


# TensorFlow and PyTorch each bring an LLVM, and loaded in the wrong order they end the process. Keras gets its own.
@functools.cache
def keras_process():
    return concurrent.futures.ProcessPoolExecutor(1, multiprocessing.get_context("spawn"))


def train_peer(peer, case):
    return peers.run(peer(case), case, peers.initial_weights(case), peers.make_data(case), UPDATES)


def forwards(case):
    layers = [{key: value for key, value in options.items() if key != "go_backwards"} for options in case.layers]
    return dataclasses.replace(case, layers=layers)


def load_and_save(peer, case):
    model = peer(case)
    model.load(peers.initial_weights(case))
    return model.save()


@functools.cache
def keras_results():
    """One future a case, all asked for at the first use, so that Keras works while the other side is busy too."""
    return {case.name: keras_process().submit(train_peer, peers.KerasPeer, case) for case in WITH_KERAS}


def keras_result(name):
    return keras_results()[name].result(600)


@functools.cache
def torch_result(name):
    return train_peer(peers.TorchPeer, CASE[name])


def read_safetensors(path):
    """The format in plain NumPy, strict: every byte behind the header belongs to exactly one tensor."""
    types = {"F64": np.float64, "F32": np.float32, "I64": np.int64, "I32": np.int32}
    with open(path, "rb") as file:
        content = file.read()
    header_bytes = int.from_bytes(content[:8], "little")
    header = json.loads(content[8:8 + header_bytes])
    metadata = header.pop("__metadata__", {})
    assert all(isinstance(value, str) for value in metadata.values()), "metadata values must be strings"
    body, tensors, end = content[8 + header_bytes:], {}, 0
    for name, entry in sorted(header.items(), key=lambda item: item[1]["data_offsets"]):
        begin, stop = entry["data_offsets"]
        assert begin == end, f"{name}: begins at {begin}, the tensor before it ends at {end}"
        tensors[name] = np.frombuffer(body[begin:stop], types[entry["dtype"]]).reshape(entry["shape"])
        end = stop
    assert end == len(body), f"{len(body) - end} bytes behind the last tensor"
    return tensors


def job_text(case, data_file, updates):
    lines = [f'task = "{case.task}"', "[data]", f'train = "{data_file}"']
    if case.vocabulary:
        lines.append(f"vocabulary = {case.vocabulary}")
    for options in case.layers:
        lines.append("[[model.layers]]")
        lines += [f"{key} = {json.dumps(value)}" for key, value in options.items()]
    for output in case.outputs:
        lines.append("[[outputs]]")
        lines += [f"{key} = {json.dumps(output[key])}" for key in ("layer", "loss", "loss_weight") if key in output]
    lines += ["[train]", f"batch_size = {case.batch_size}", f"epochs = {updates}", f"max_steps = {updates}", "shuffle = false",
              "seed = 1"]
    lines += [f"{key} = {json.dumps(value)}" for key, value in case.train.items()]
    return "\n".join(lines) + "\n"


class Engine:
    """Runs the engine's programs on a case, in a folder of its own."""

    def __init__(self, plimsoll, build):
        self.plimsoll, self.step = os.path.abspath(plimsoll), os.path.abspath(os.path.join(build, "plimsoll_step"))
        self.folder = tempfile.TemporaryDirectory(prefix="plimsoll_parity_")
        self.results = {}

    def prepare(self, case):
        base = os.path.join(self.folder.name, case.name)
        if not os.path.exists(base):
            os.makedirs(os.path.join(base, "model"))
            data = peers.make_data(case)
            if not case.ragged and not case.lengths:
                del data["lengths"]
            np.savez(os.path.join(base, "data.npz"), **data)
            safetensors.numpy.save_file(peers.initial_weights(case), os.path.join(base, "model", "model.safetensors"))
            with open(os.path.join(base, "job.toml"), "w") as file:
                file.write(job_text(case, "data.npz", UPDATES))
        return base

    def call(self, *command):
        done = subprocess.run(command, capture_output=True, text=True, timeout=300)
        if done.returncode != 0:
            raise AssertionError(f"{' '.join(command)}\nexit code {done.returncode}\n{done.stdout}{done.stderr}")

    def result(self, name):
        if name not in self.results:
            base = self.prepare(CASE[name])
            self.call(self.step, f"{base}/job.toml", f"{base}/model", f"{base}/step.safetensors", str(UPDATES))
            self.results[name] = read_safetensors(f"{base}/step.safetensors")
        return self.results[name]


class ParityTest(unittest.TestCase):
    def assert_same(self, got, want, case):
        normalised = any(layer.normalised for layer in peers.resolve(case))
        found = differences(got, want, peers.initial_weights(case), tolerance=NORMALISED_TOLERANCE if normalised else TOLERANCE)
        self.assertEqual(found, [], "\n" + "\n".join(found))


class Peers(ParityTest):
    def test_canonical_weights_survive_the_way_into_each_peer_and_back(self):
        for case in CASES:
            weights = peers.initial_weights(case)
            found = {"Keras": keras_process().submit(load_and_save, peers.KerasPeer, case).result(600),
                     "PyTorch": load_and_save(peers.TorchPeer, case)}
            for peer, saved in found.items():
                with self.subTest(case=case.name, peer=peer):
                    self.assertEqual(saved.keys(), weights.keys())
                    for name in weights:
                        np.testing.assert_array_equal(saved[name], weights[name], name)

    def test_agree_with_each_other(self):
        for case in CASES:
            with self.subTest(case=case.name):
                self.assert_same(torch_result(case.name), keras_result(case.name), case)


class Controls(unittest.TestCase):
    """Seeded mistakes. Each must be reported, and in the tensors where it belongs."""

    def reported(self, name, spoil_weights=lambda weights: None, spoil_data=lambda data: None, peer=peers.TorchPeer):
        case = CASE[name]
        start, data = peers.initial_weights(case), peers.make_data(case)
        weights = {key: value.copy() for key, value in start.items()}
        spoil_weights(weights)
        spoil_data(data)
        got = peers.run(peer(case), case, weights, data, UPDATES)
        return " ".join(differences(got, keras_result(name), start))

    def assert_reported(self, report, *tensors):
        for tensor in tensors:
            self.assertIn(f"{tensor}:", report)

    def test_swapped_forget_and_candidate_blocks(self):
        def swap(weights):
            for tensor in ("lstm.weight_ih", "lstm.weight_hh", "lstm.bias"):
                blocks = np.split(weights[tensor], 4)
                weights[tensor] = np.concatenate([blocks[0], blocks[2], blocks[1], blocks[3]])
        self.assert_reported(self.reported("features_last_state", swap), "loss", "outputs", "grad.lstm.weight_ih",
                             "grad.lstm.weight_hh", "grad.lstm.bias", "weights.lstm.bias")

    def test_swapped_update_and_reset_blocks(self):
        def swap(weights):
            for tensor in ("gru.weight_ih", "gru.weight_hh", "gru.bias_ih", "gru.bias_hh"):
                blocks = np.split(weights[tensor], 3)
                weights[tensor] = np.concatenate([blocks[1], blocks[0], blocks[2]])
        self.assert_reported(self.reported("gru", swap), "loss", "outputs", "grad.gru.weight_ih", "grad.gru.weight_hh",
                             "grad.gru.bias_hh", "weights.gru.bias_ih")

    def test_the_gru_with_its_reset_on_the_other_side(self):
        names = ("loss", "outputs", "grad.gru.weight_hh")
        got, want = keras_result("gru_without_bias"), keras_result("gru_before_without_bias")
        self.assert_reported(" ".join(differences(got, want, peers.initial_weights(CASE["gru_without_bias"]))), *names)

    def test_missing_forget_bias(self):
        def remove(weights):
            weights["lstm.bias"][17:34] -= 1.0
        for name in ("features_last_state", "mean_pooling_relu", "per_step_classes_two_layers"):
            self.assert_reported(self.reported(name, remove), "loss", "outputs", "grad.lstm.weight_hh")

    def test_transposed_recurrent_blocks(self):
        def transpose(weights):
            blocks = np.split(weights["lstm.weight_hh"], 4)
            weights["lstm.weight_hh"] = np.concatenate([block.T for block in blocks])
        self.assert_reported(self.reported("ids_last_state", transpose), "outputs", "grad.lstm.weight_hh")

    def test_one_step_too_many_in_one_row(self):
        def lengthen(data):
            data["lengths"][2] += 1
        self.assert_reported(self.reported("features_last_state", spoil_data=lengthen), "loss", "outputs", "grad.lstm.bias")

    def test_one_weight_off_by_a_ten_thousandth(self):
        def nudge(weights):
            weights["lstm.weight_ih"][40, 2] += 1e-4
        self.assert_reported(self.reported("features_last_state", nudge), "outputs")

    def test_a_second_bias_that_is_trained_too(self):
        class TwoBiases(peers.TorchPeer):
            def update(self):
                super().update()
                with self.torch.no_grad():  # what an equal second bias would add
                    bias = self.parameters["lstm.bias"]
                    bias += bias - self.before
                    self.before = bias.clone()

            def load(self, weights):
                super().load(weights)
                self.before = self.parameters["lstm.bias"].detach().clone()
        self.assert_reported(self.reported("features_last_state", peer=TwoBiases), "weights.lstm.bias")

    def test_projection_upside_down(self):
        case = CASE["projected"]
        start, data = peers.initial_weights(case), peers.make_data(case)
        spoiled = {**start, "lstm.weight_hr": start["lstm.weight_hr"][::-1].copy()}
        got = peers.run(peers.TorchPeer(case), case, spoiled, data, UPDATES)
        self.assert_reported(" ".join(differences(got, torch_result("projected"), start)), "loss", "grad.lstm.weight_hr")

    def test_state_that_begins_with_zeros(self):
        for name, key in (("stateful", "stateful"), ("state_of_the_data", "initial_state")):
            with self.subTest(case=name):
                case = CASE[name]
                plain = [{option: value for option, value in layer.items() if option != key} for layer in case.layers]
                got = keras_process().submit(train_peer, peers.KerasPeer, dataclasses.replace(case, layers=plain)).result(600)
                self.assert_reported(" ".join(differences(got, keras_result(name), peers.initial_weights(case))), "loss")

    def test_a_blank_in_another_place_and_a_mean_over_labels(self):
        class LastIsBlank(peers.TorchPeer):
            def ctc(self, outputs, y, lengths):
                return super().ctc(outputs.roll(1, dims=-1), y, lengths)

        class OverLabels(peers.TorchPeer):
            def ctc(self, outputs, y, lengths):
                return super().ctc(outputs, y, lengths) / self.torch.from_numpy((y != 0).sum(axis=1))
        case = CASE["ctc"]
        start, data = peers.initial_weights(case), peers.make_data(case)
        for peer in (LastIsBlank, OverLabels):
            got = peers.run(peer(case), case, start, data, UPDATES)
            self.assert_reported(" ".join(differences(got, torch_result("ctc"), start)), "loss", "grad.dense.bias")

    def test_normalisation_of_the_other_product(self):
        case = CASE["normalised_lstm"]
        start, data = peers.initial_weights(case), peers.make_data(case)
        spoiled = {**start, "lstm.norm_ih_weight": start["lstm.norm_hh_weight"], "lstm.norm_hh_weight": start["lstm.norm_ih_weight"]}
        got = peers.run(peers.TorchPeer(case), case, spoiled, data, UPDATES)
        self.assert_reported(" ".join(differences(got, torch_result("normalised_lstm"), start)), "loss", "grad.lstm.norm_ih_weight",
                             "grad.lstm.norm_hh_weight", "grad.lstm.norm_c_weight", "grad.lstm.weight_hh")

    def test_sequences_from_their_start(self):
        for name in ("lstm_backwards", "gru_backwards_per_step"):
            with self.subTest(case=name):
                case = CASE[name]
                got = keras_process().submit(train_peer, peers.KerasPeer, forwards(case)).result(600)
                self.assert_reported(" ".join(differences(got, keras_result(name), peers.initial_weights(case))), "loss", "outputs")

    def test_adam_without_bias_correction(self):
        class Uncorrected(peers.TorchPeer):
            def update(self):
                self.optimizer.param_groups[0]["lr"] = 1e-3 * (1 - 0.9 ** (self.updates + 1))
                super().update()
        self.assert_reported(self.reported("features_last_state", peer=Uncorrected), "loss", "weights.dense.weight")

    def test_every_optimizer_for_every_other(self):
        for case in OPTIMIZER_CASES:
            for other in OPTIMIZER_CASES:
                if case is not other:
                    with self.subTest(got=case.name, want=other.name):
                        report = " ".join(differences(keras_result(case.name), keras_result(other.name),
                                                      peers.initial_weights(other), OPTIMIZER_TOLERANCE))
                        self.assert_reported(report, "weights.lstm.weight_ih", "weights.dense.weight")

    def test_a_layer_that_learns_though_it_should_stay(self):
        got, want = keras_result("ids_last_state"), keras_result("frozen_embedding")
        self.assert_reported(" ".join(differences(got, want, peers.initial_weights(CASE["frozen_embedding"]))),
                             "weights.embedding.weight", "grad.embedding.weight", "loss")

    def test_a_table_that_hears_of_one_of_its_two_uses(self):
        class Untied(peers.TorchPeer):
            def outputs(self, x, lengths):
                table = self.parameters["embedding.weight"]
                self.modules["dense_1"].weight = self.torch.nn.Parameter(table.detach().clone())
                return super().outputs(x, lengths)
        self.assert_reported(self.reported("tied", peer=Untied), "grad.embedding.weight", "weights.embedding.weight")

    def test_outputs_with_the_weights_of_others(self):
        case = CASE["two_outputs_weighted"]
        plain = [{key: value for key, value in output.items() if key != "loss_weight"} for output in case.outputs]
        got = keras_process().submit(train_peer, peers.KerasPeer, dataclasses.replace(case, outputs=plain)).result(600)
        report = " ".join(differences(got, keras_result(case.name), peers.initial_weights(case)))
        self.assert_reported(report, "loss", "grad.lstm.weight_ih", "grad.mood.weight", "grad.tags.bias")
        self.assertNotIn("outputs.tags:", report)

    def test_penalties_left_out(self):
        case = CASE["penalties"]
        plain = [{key: value for key, value in layer.items() if not key.endswith(("_l1", "_l2"))} for layer in case.layers]
        got = keras_process().submit(train_peer, peers.KerasPeer, dataclasses.replace(case, layers=plain)).result(600)
        self.assert_reported(" ".join(differences(got, keras_result("penalties"), peers.initial_weights(case))), "loss",
                             "grad.embedding.weight", "grad.lstm.weight_ih", "grad.lstm.weight_hh", "grad.lstm.bias",
                             "grad.gru.weight_hh", "grad.gru.bias_ih", "grad.gru.bias_hh", "grad.dense.weight", "grad.dense.bias")

    def test_mean_over_padding(self):
        class OverPadding(peers.TorchPeer):
            def forward_backward(self, x, y, lengths, weights, start):
                share = float(lengths.sum() / (len(lengths) * x.shape[1]))
                loss, outputs, gradients = super().forward_backward(x, y, lengths, weights, start)
                return loss * share, outputs, {name: value * share for name, value in gradients.items()}
        self.assert_reported(self.reported("value_per_step", peer=OverPadding), "loss", "grad.lstm.weight_ih")

    def test_not_finite_and_missing_tensors(self):
        want = keras_result("every_length_one")
        got = dict(want)
        del got["grad.dense.bias"]
        got["outputs"] = np.full_like(got["outputs"], np.nan)
        report = " ".join(differences(got, want, peers.initial_weights(CASE["every_length_one"])))
        self.assert_reported(report, "grad.dense.bias", "outputs")


class EngineTest(ParityTest):
    engine = None  # set by the main program

    def test_agrees_with_keras(self):
        for case in CASES + KERAS_CASES:
            with self.subTest(case=case.name):
                self.assert_same(self.engine.result(case.name), keras_result(case.name), case)

    def test_optimizers_and_schedules_agree_with_keras(self):
        for case in OPTIMIZER_CASES:
            with self.subTest(case=case.name):
                found = differences(self.engine.result(case.name), keras_result(case.name), peers.initial_weights(case),
                                    OPTIMIZER_TOLERANCE)
                self.assertEqual(found, [], "\n" + "\n".join(found))

    def test_agrees_with_pytorch(self):
        for case in CASES + TORCH_CASES:
            with self.subTest(case=case.name):
                self.assert_same(self.engine.result(case.name), torch_result(case.name), case)

    def test_train_from_given_weights_ends_where_the_single_steps_end(self):
        for name in ("features_last_state", "per_step_classes_two_layers", "value_per_sample"):
            with self.subTest(case=name):
                base = self.engine.prepare(CASE[name])
                self.engine.call(self.engine.plimsoll, "train", f"{base}/job.toml", "--init-from", f"{base}/model",
                                 "--out", f"{base}/run", "--quiet")
                trained = read_safetensors(f"{base}/run/model/model.safetensors")
                steps = self.engine.result(name)
                self.assertEqual(trained.keys(), peers.initial_weights(CASE[name]).keys())
                for tensor, value in trained.items():
                    np.testing.assert_array_equal(value, steps[f"weights.{tensor}"], tensor)

    def test_files_open_in_the_safetensors_package(self):
        name = "features_last_state"
        base = self.engine.prepare(CASE[name])
        self.engine.call(self.engine.plimsoll, "train", f"{base}/job.toml", "--init-from", f"{base}/model",
                         "--out", f"{base}/run_for_files", "--quiet")
        self.engine.result(name)
        for path in (f"{base}/run_for_files/model/model.safetensors", f"{base}/step.safetensors"):
            with self.subTest(file=path):
                plain, package = read_safetensors(path), safetensors.numpy.load_file(path)
                self.assertEqual(plain.keys(), package.keys())
                for tensor, value in plain.items():
                    np.testing.assert_array_equal(package[tensor], value, tensor)


def main():
    arguments = sys.argv[1:]
    if "--peers-only" in arguments:
        arguments.remove("--peers-only")
        del globals()["EngineTest"]
    elif len(arguments) >= 2 and not arguments[0].startswith("-"):
        EngineTest.engine = Engine(arguments[0], arguments[1])
        arguments = arguments[2:]
    else:
        sys.exit(__doc__)
    unittest.main(argv=[sys.argv[0], *arguments])


if __name__ == "__main__":
    main()
