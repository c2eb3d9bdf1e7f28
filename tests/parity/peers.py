"""peers: one model description, built in Keras 3 (on TensorFlow) and in PyTorch, with canonical weights in and out.

  in:   a Case (layers as a job file lists them, data sizes) and canonical weights (names and layouts of src/model/spec.h)
  out:  what a training program must reproduce, keyed like the file that plimsoll_step writes:
          loss          [updates]      of each batch before its update
          outputs       [items, width] of the first batch before any update: logits, or values; packed sample after sample
                                       (of several outputs each one's own: outputs.NAME)
          grad.NAME                    of the first batch
          weights.NAME                 after all updates

Batches are taken in file order, the last one of an epoch may be short, and the next epoch starts at the first sample.
A batch's loss is the mean over its valid items (samples, or steps where targets are per step), never over padding.

The two peers take different roads on purpose: Keras carries the state through masked steps, PyTorch packs the rows and
gathers the last valid step. A mistake in one of the roads shows as a difference between the peers. The frameworks are
imported by the class that needs them: one process must not hold both.
"""
import os

os.environ.setdefault("KERAS_BACKEND", "tensorflow")
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")
for threads in ("OMP_NUM_THREADS", "TF_NUM_INTRAOP_THREADS", "TF_NUM_INTEROP_THREADS"):
    os.environ.setdefault(threads, "1")  # the models are tiny, and spinning threads are slow on a busy machine

from dataclasses import dataclass, field

import numpy as np

LEARNING_RATE, BETA_1, BETA_2, EPSILON = 1e-3, 0.9, 0.999, 1e-7


@dataclass
class Case:
    name: str
    layers: list                # of dicts, the keys of a job file's [[model.layers]]
    task: str = "classify"
    per_step: bool = False      # one target a step; else one a sample
    features: int = 0           # width of a step; 0: ids
    vocabulary: int = 0
    classes: int = 7            # classify
    samples: int = 40
    longest: int = 37
    ragged: bool = True
    batch_size: int = 9
    seed: int = 1
    lengths: list = field(default_factory=list)  # empty: drawn
    train: dict = field(default_factory=lambda: Case.adam())
    updates: int = 10
    weighted: bool = False       # samples have weights
    state_width: int = 0         # values that State begins with; 0: zeros
    outputs: list = field(default_factory=list)  # several: dicts with the keys of [[outputs]], `per_step` and `classes` or `width`

    @property
    def ctc(self):
        return self.train.get("loss") == "ctc"

    @staticmethod
    def adam():
        return {"optimizer": "adam", "learning_rate": LEARNING_RATE, "epsilon": EPSILON}


GATES = {"LSTM": 4, "GRU": 3, "SimpleRNN": 1}
NORM_VECTORS = ("norm_ih_weight", "norm_ih_bias", "norm_hh_weight", "norm_hh_bias", "norm_c_weight", "norm_c_bias")
MERGES = ("Concatenate", "Add", "Multiply")


@dataclass
class Layer:
    name: str
    type: str
    inputs: int
    units: int                   # width of the output
    activation: str = "linear"
    mode: str = "last"           # Pooling
    return_sequences: bool = True
    use_bias: bool = True
    reset_after: bool = True     # GRU
    recurrent_activation: str = "sigmoid"
    trainable: bool = True
    penalties: dict = field(default_factory=dict)  # "kernel_l1" and the like
    reads: tuple = ()            # names of the layers that it reads; "input" is the data
    cells: int = 0               # LSTM: width of c; units is the projection's where there is one
    projected: bool = False      # LSTM
    go_backwards: bool = False
    taps: int = 0                # Conv1D: steps that it looks at
    dilation: int = 1            # and how far apart they lie
    return_state: bool = False   # NAME_state is there for others
    initial_state: bool = False  # of the data: h, then c
    stateful: bool = False
    normalised: bool = False     # LSTM: with layer_normalization
    epsilon: float = 1e-3
    tied_to: str = ""            # Dense: the Embedding whose table, transposed, is its kernel

    def state_widths(self):
        return [self.units, self.cells] if self.type == "LSTM" else [self.units]

    def biases(self):
        """Of a recurrent layer."""
        if not self.use_bias:
            return []
        return ["bias_ih", "bias_hh"] if self.type == "GRU" and self.reset_after else ["bias"]

    def tensors(self):
        """Canonical names and shapes."""
        if self.type == "Embedding":
            return {f"{self.name}.weight": (self.inputs, self.units)}
        if self.type in GATES:
            rows = GATES[self.type] * self.cells
            return {f"{self.name}.weight_ih": (rows, self.inputs), f"{self.name}.weight_hh": (rows, self.units),
                    **{f"{self.name}.{bias}": (rows,) for bias in self.biases()},
                    **({f"{self.name}.weight_hr": (self.units, self.cells)} if self.projected else {}),
                    **{f"{self.name}.{vector}": (self.cells if "_c_" in vector else rows,)
                       for vector in (NORM_VECTORS if self.normalised else ())}}
        if self.type == "Dense":
            return {**({} if self.tied_to else {f"{self.name}.weight": (self.units, self.inputs)}), f"{self.name}.bias": (self.units,)}
        if self.type == "Conv1D":
            return {f"{self.name}.weight": (self.units, self.taps * self.inputs),
                    **({f"{self.name}.bias": (self.units,)} if self.use_bias else {})}
        if self.type == "LayerNormalization":
            return {f"{self.name}.weight": (self.units,), f"{self.name}.bias": (self.units,)}
        return {}


def resolve(case):
    """The case's layers with names, widths and return_sequences decided, as the engine's MakeSpec decides them."""
    layers, counts = [], {}
    widths, before = {"input": case.features or case.vocabulary}, "input"
    for number, options in enumerate(case.layers):
        kind = options["type"]
        base = kind.lower()
        seen = counts[base] = counts.get(base, -1) + 1
        name = options.get("name") or (base if seen == 0 else f"{base}_{seen}")
        reads = tuple(options.get("inputs", (before,)))
        width = sum(widths[read] for read in reads) if kind == "Concatenate" else widths[reads[0]]
        needed = case.per_step or case.ctc or any(later["type"] in (*GATES, "Pooling") for later in case.layers[number + 1:])
        cells, projected = options.get("units", 0), bool(options.get("proj_size"))
        units = options.get("output_dim") or options.get("filters") or options.get("proj_size") or options.get("units") or width
        activation = options.get("activation", "tanh" if kind in GATES else "linear")
        layers.append(Layer(name, kind, width, units, activation, options.get("mode", "last"),
                            options.get("return_sequences", needed), options.get("use_bias", True),
                            options.get("reset_after", True), options.get("recurrent_activation", "sigmoid"),
                            options.get("trainable", True),
                            {key: value for key, value in options.items() if key.endswith(("_l1", "_l2"))}, reads,
                            cells, projected, options.get("go_backwards", False), options.get("kernel_size", 0),
                            options.get("dilation_rate", 1), options.get("return_state", False),
                            options.get("initial_state") == "data", options.get("stateful", False),
                            options.get("layer_normalization", False), options.get("epsilon", 1e-3), options.get("tied_to", "")))
        widths[name], before = units, name
        if kind in GATES:
            widths[f"{name}_state"] = sum(layers[-1].state_widths())
    return layers


def initial_weights(case):
    """Not a good start for training, but one in which every block and bias matters: no zeros, forget bias about 1."""
    random = np.random.default_rng(case.seed + 1000)
    weights = {}
    for layer in resolve(case):
        for name, shape in layer.tensors().items():
            if layer.type == "Embedding":
                value = random.normal(0, 0.7, shape)
            elif len(shape) == 1:
                value = random.uniform(-0.3, 0.3, shape)
                if layer.type == "LSTM" and name.endswith(".bias"):
                    value[layer.cells:2 * layer.cells] += 1.0
                elif layer.type == "LSTM" and name.endswith("_weight"):
                    value += 1.0
            else:
                value = random.uniform(-1, 1, shape) * np.sqrt(3.0 / shape[1])
            weights[name] = value.astype(np.float32)
    return weights


def make_labels(random, case, steps):
    """Labels from 1, equal neighbours among them, of which the steps can carry all."""
    labels = []
    for _ in range(int(random.integers(1, steps + 1))):
        label = labels[-1] if labels and random.random() < 0.3 else int(random.integers(1, case.classes))
        steps -= 2 if labels and labels[-1] == label else 1
        if steps < 0:
            break
        labels.append(label)
    return labels


def make_data(case):
    """x, y and lengths as a .npz data file holds them; padding is filled with values that would be noticed."""
    random = np.random.default_rng(case.seed)
    if case.lengths:
        lengths = np.resize(np.array(case.lengths), case.samples)
    elif case.ragged:
        lengths = random.integers(1, case.longest + 1, case.samples)
        lengths[:3] = [1, case.longest, 2]
    else:
        lengths = np.full(case.samples, case.longest)
    steps = int(lengths.max())
    valid = np.arange(steps) < lengths[:, None]
    if case.features:
        x = random.normal(0, 1, (case.samples, steps, case.features)).astype(np.float32)
        x[~valid] = 3.0
    else:
        x = random.integers(0, case.vocabulary, (case.samples, steps)).astype(np.int32)
        x[0, 0] = case.vocabulary - 1
        x[~valid] = 0
    shape = (case.samples, steps) if case.per_step else (case.samples,)
    if case.task == "classify":
        y = random.integers(0, case.classes, shape).astype(np.int32)
        y.flat[0] = case.classes - 1
    else:
        y = random.normal(0, 1, shape).astype(np.float32)
        if case.train.get("loss") == "binary_crossentropy":
            y = random.uniform(0, 1, shape).astype(np.float32)
            y.flat[::3] = np.round(y.flat[::3])
    if case.per_step:
        y[~valid] = 0
    data = {"x": x, "lengths": lengths.astype(np.int64)}
    for output in case.outputs:
        shape = (case.samples, steps) if output.get("per_step") else (case.samples,)
        if "classes" in output:
            own = random.integers(0, output["classes"], shape).astype(np.int32)
            own.flat[0] = output["classes"] - 1
        else:
            own = random.uniform(0, 1, (*shape, output["width"])).astype(np.float32)
        data[f"y_{output['layer']}"] = own
    if not case.outputs:
        data["y"] = y
    if case.state_width:
        data["initial_state"] = random.normal(0, 1, (case.samples, case.state_width)).astype(np.float32)
    if case.ctc:
        targets = [make_labels(random, case, length) for length in lengths]
        data["target_lengths"] = np.array([len(labels) for labels in targets])
        data["y"] = np.zeros((case.samples, data["target_lengths"].max()), np.int32)
        for row, labels in zip(data["y"], targets):
            row[:len(labels)] = labels
    if case.weighted:
        data["weights"] = random.uniform(0, 2, case.samples).astype(np.float32)
    return data


def batches(case, data, updates):
    """The batches of the first `updates` updates, padded to the longest sample of the file."""
    first = 0
    for _ in range(updates):
        rows = slice(first, min(first + case.batch_size, case.samples))
        count = rows.stop - rows.start
        weights = data["weights"][rows] if case.weighted else np.ones(count, np.float32)
        start = data["initial_state"][rows] if case.state_width else np.zeros((count, 0), np.float32)
        y = {name: data[f"y_{name}"][rows] for name in (output["layer"] for output in case.outputs)} or data["y"][rows]
        yield data["x"][rows], y, data["lengths"][rows], weights, start
        first = 0 if rows.stop == case.samples else rows.stop


def run(model, case, weights, data, updates):
    """Trains a peer for some updates and returns what the module's comment lists."""
    model.load(weights)
    losses, result = [], {}
    for number, (x, y, lengths, counts, start) in enumerate(batches(case, data, updates)):
        if number % -(-case.samples // case.batch_size) == 0:
            model.start_epoch()
        loss, outputs, gradients = model.forward_backward(x, y, lengths, counts, start)
        losses.append(float(loss))
        if number == 0:
            result.update({f"outputs.{name}": value for name, value in outputs.items()} if case.outputs else {"outputs": outputs})
            result.update({f"grad.{name}": value for name, value in gradients.items()})
        model.update()
    result["loss"] = np.array(losses)
    result.update({f"weights.{name}": value for name, value in model.save().items()})
    return result


class KerasPeer:
    def __init__(self, case):
        import keras
        import tensorflow as tf
        self.keras, self.tf, self.case = keras, tf, case
        self.layers = resolve(case)
        self.built, self.compiled = {}, None
        for layer in self.layers:
            rules = {f"{tensor}_regularizer": keras.regularizers.L1L2(layer.penalties.get(f"{tensor}_l1", 0.0),
                                                                      layer.penalties.get(f"{tensor}_l2", 0.0))
                     for tensor in sorted({key[:-3] for key in layer.penalties})}
            if layer.type == "Embedding":
                made = keras.layers.Embedding(layer.inputs, layer.units, **rules)
                made.build((None, None))
            elif layer.type in GATES:
                assert not layer.projected, "Keras has no LSTM with a projection"
                own = {"reset_after": layer.reset_after} if layer.type == "GRU" else {}
                if layer.type != "SimpleRNN":
                    own["recurrent_activation"] = layer.recurrent_activation
                made = getattr(keras.layers, layer.type)(layer.units, return_sequences=layer.return_sequences,
                                                         go_backwards=layer.go_backwards, use_bias=layer.use_bias,
                                                         activation=layer.activation, return_state=layer.return_state,
                                                         stateful=layer.stateful, **own, **rules)
                made.build((case.batch_size if layer.stateful else None, None, layer.inputs))
            elif layer.type == "Dense":
                made = keras.layers.Dense(layer.units, activation=layer.activation, **rules)
                made.build((None, layer.inputs))
            elif layer.type == "LayerNormalization":
                made = keras.layers.LayerNormalization()
                made.build((None, layer.inputs))
            elif layer.type == "Activation":
                made = keras.layers.Activation(layer.activation)
            elif layer.type in MERGES:
                made = getattr(keras.layers, layer.type)()
            elif layer.type == "Conv1D":
                made = keras.layers.Conv1D(layer.units, layer.taps, padding="causal", dilation_rate=layer.dilation,
                                           activation=layer.activation, use_bias=layer.use_bias)
                made.build((None, None, layer.inputs))
            else:
                continue
            made.trainable = layer.trainable
            self.built[layer.name] = made
        self.variables = []  # (variable, canonical names, transposed): Keras keeps column blocks, canonical are rows. Gates
        for layer in self.layers:  # have the same order. Two names: the canonical tensors are the variable's rows
            built, name = self.built.get(layer.name), layer.name
            if layer.type == "Embedding":
                self.variables.append((built.embeddings, [f"{name}.weight"], False))
            elif layer.type in GATES:
                self.variables.append((built.cell.kernel, [f"{name}.weight_ih"], True))
                self.variables.append((built.cell.recurrent_kernel, [f"{name}.weight_hh"], True))
                if layer.use_bias:
                    self.variables.append((built.cell.bias, [f"{name}.{bias}" for bias in layer.biases()], False))
            elif layer.type == "Dense":
                if not layer.tied_to:
                    self.variables.append((built.kernel, [f"{name}.weight"], True))
                self.variables.append((built.bias, [f"{name}.bias"], False))
            elif layer.type == "Conv1D":
                self.variables.append((built.kernel, [f"{name}.weight"], True))
                if layer.use_bias:
                    self.variables.append((built.bias, [f"{name}.bias"], False))
            elif layer.type == "LayerNormalization":
                self.variables.append((built.gamma, [f"{name}.weight"], False))
                self.variables.append((built.beta, [f"{name}.bias"], False))
        self.trained = [variable for variable, _, _ in self.variables if variable.trainable]

    def load(self, weights):
        named = {name for _, names, _ in self.variables for name in names}
        assert weights.keys() == named, (sorted(weights), sorted(named))
        for variable, names, transposed in self.variables:
            value = weights[names[0]] if len(names) == 1 else np.stack([weights[name] for name in names])
            variable.assign((value.T if transposed else value).reshape(variable.shape))
        self.optimizer = keras_optimizer(self.keras.optimizers, self.case)
        self.optimizer.build(self.trained)

    def named(self, variables, values):
        """Values of variables as canonical tensors."""
        found = {}
        for (_, names, transposed), value in zip(variables, values):
            parts = [value] if len(names) == 1 else list(value)
            found.update({name: canonical(part, transposed) for name, part in zip(names, parts)})
        return found

    def save(self):
        return self.named(self.variables, [variable.numpy() for variable, _, _ in self.variables])

    def start_epoch(self):
        for layer in self.layers:
            if layer.stateful:
                self.built[layer.name].reset_state()

    def outputs(self, x, lengths, start):
        values, per_step, _ = self.forward(x, lengths, start)
        return self.tf.boolean_mask(values, self.tf.sequence_mask(lengths, x.shape[1])) if per_step else values

    def forward(self, x, lengths, start):
        """What the last layer gives, whether it has a row a step, and what every layer gives."""
        ops = self.keras.ops
        mask = self.tf.sequence_mask(lengths, x.shape[1])
        per_step, found = True, {"input": x}
        for layer in self.layers:
            values = found[layer.reads[0]]
            per_step = per_step and not layer.reads[0].endswith("_state")
            if layer.type in MERGES:
                values = self.built[layer.name]([found[read] for read in layer.reads])
            elif layer.type in GATES:
                own = {}
                if layer.initial_state:
                    widths = layer.state_widths()
                    states, start = self.tf.split(start[:, :sum(widths)], widths, axis=1), start[:, sum(widths):]
                    own["initial_state"] = states if len(states) > 1 else states[0]
                values = self.built[layer.name](values, mask=mask, **own)
                if layer.return_state:
                    found[f"{layer.name}_state"] = ops.concatenate(values[1:], axis=-1)
                    values = values[0]
                per_step = layer.return_sequences
                if layer.go_backwards and per_step:  # Keras begins with the padding: the valid steps move to the front
                    steps = x.shape[1]
                    places = (steps - lengths[:, None] + np.arange(steps)) % steps
                    values = self.tf.gather(values, places, batch_dims=1)
            elif layer.tied_to:
                values = ops.matmul(values, ops.transpose(self.built[layer.tied_to].embeddings)) + self.built[layer.name].bias
            elif layer.type == "Pooling":
                valid = ops.cast(mask, "float32")[:, :, None]
                if layer.mode == "mean":
                    values = ops.sum(values * valid, axis=1) / ops.sum(valid, axis=1)
                elif layer.mode == "max":
                    values = ops.max(values + (valid - 1.0) * 1e9, axis=1)
                else:  # the only step that is valid while the next is not
                    ends = valid - ops.pad(valid[:, 1:], ((0, 0), (0, 1), (0, 0)))
                    values = ops.sum(values * ends, axis=1)
                per_step = False
            else:
                values = self.built[layer.name](values)
            found[layer.name] = values
        return values, per_step, found

    def several(self, x, ys, lengths, weights, start):
        """Of a model with several outputs: the sum of loss_weight times each one's own mean."""
        tf, losses, valid = self.tf, self.keras.losses, np.arange(x.shape[1]) < lengths[:, None]
        kinds = {"sparse_categorical_crossentropy": lambda: losses.SparseCategoricalCrossentropy(from_logits=True),
                 "mean_squared_error": losses.MeanSquaredError, "huber": losses.Huber,
                 "binary_crossentropy": lambda: losses.BinaryCrossentropy(from_logits=True)}
        with tf.GradientTape() as tape:
            found, total, outputs = self.forward(x, lengths, start)[2], 0.0, {}
            for output in self.case.outputs:
                values, y, counts = found[output["layer"]], ys[output["layer"]], weights
                if output.get("per_step"):
                    values, y, counts = tf.boolean_mask(values, valid), y[valid], np.repeat(weights, lengths)
                usual = "sparse_categorical_crossentropy" if "classes" in output else "mean_squared_error"
                total += output.get("loss_weight", 1.0) * kinds[output.get("loss", usual)]()(y, values, counts)
                outputs[output["layer"]] = values.numpy()
        self.gradients = [tf.convert_to_tensor(value) for value in tape.gradient(total, [v.value for v in self.trained])]
        return total.numpy(), outputs, self.named(self.variables, [value.numpy() for value in self.gradients])

    def traced(self, x, y, lengths, weights, start):
        tf, losses = self.tf, self.keras.losses
        with tf.GradientTape() as tape:
            outputs = self.outputs(x, lengths, start)
            smoothing = self.case.train.get("label_smoothing", 0.0)
            if self.case.task == "classify" and smoothing:
                one_hot = tf.one_hot(y, self.case.classes)
                loss = losses.CategoricalCrossentropy(from_logits=True, label_smoothing=smoothing)(one_hot, outputs, weights)
            elif self.case.task == "classify":
                loss = losses.SparseCategoricalCrossentropy(from_logits=True)(y, outputs, weights)
            else:
                kind = {"mean_squared_error": losses.MeanSquaredError, "mean_absolute_error": losses.MeanAbsoluteError,
                        "huber": lambda: losses.Huber(delta=self.case.train["huber_delta"]),
                        "binary_crossentropy": lambda: losses.BinaryCrossentropy(from_logits=True, label_smoothing=smoothing)}
                loss = kind[self.case.train.get("loss", "mean_squared_error")]()(y[:, None], outputs, weights)
            for made in self.built.values():
                for penalty in made.losses:
                    loss += penalty
        found = tape.gradient(loss, [variable.value for variable in self.trained])
        return loss, outputs, [tf.convert_to_tensor(value) for value in found]  # the Embedding's comes as rows

    def forward_backward(self, x, y, lengths, weights, start):
        tf = self.tf
        if self.case.outputs:
            return self.several(x, y, lengths, weights, start)
        if self.case.per_step:
            y = y[np.arange(y.shape[1]) < lengths[:, None]]
            weights = np.repeat(weights, lengths)
        if "class_weight" in self.case.train:
            weights = weights * np.array(self.case.train["class_weight"], np.float32)[y]
        if self.compiled is None:  # one trace for batches of any size
            self.compiled = tf.function(self.traced, input_signature=[
                tf.TensorSpec([None, *x.shape[1:]], x.dtype), tf.TensorSpec([None], y.dtype), tf.TensorSpec([None], tf.int64),
                tf.TensorSpec([None], tf.float32), tf.TensorSpec([None, self.case.state_width], tf.float32)])
        loss, outputs, self.gradients = self.compiled(x, y, lengths, weights, start)
        return loss.numpy(), outputs.numpy(), self.named(
            [entry for entry in self.variables if entry[0].trainable], [value.numpy() for value in self.gradients])

    def update(self):
        self.optimizer.apply_gradients(zip(self.gradients, self.trained))


def keras_schedule(schedules, rate, settings, updates):
    """The schedule that a job's keys name; what it uses of them is taken out of `settings`."""
    name, warmup = settings.pop("lr_schedule"), settings.pop("warmup_steps", 0)
    end = settings.pop("lr_end_factor", 0.0)
    if name == "cosine":
        return schedules.CosineDecay(0.0 if warmup else rate, updates - warmup, alpha=end,
                                     warmup_target=rate if warmup else None, warmup_steps=warmup)
    assert warmup == 0, "Keras warms up for a cosine alone"
    if name in ("linear", "polynomial"):
        return schedules.PolynomialDecay(rate, updates, end * rate, power=settings.pop("lr_power", 1.0))
    return schedules.ExponentialDecay(rate, settings.pop("lr_decay_steps"), settings.pop("lr_decay_rate"),
                                      staircase={"step": True, "exponential": False}[name])


def keras_optimizer(optimizers, case):
    """The optimizer that a case's [train] keys name. What the case leaves out is left to Keras's defaults."""
    kinds = {"adam": optimizers.Adam, "adamw": optimizers.AdamW, "sgd": optimizers.SGD, "rmsprop": optimizers.RMSprop,
             "adagrad": optimizers.Adagrad}
    names = {"clip_norm": "global_clipnorm", "clip_value": "clipvalue", "clip_tensor_norm": "clipnorm"}
    settings = {key: value for key, value in case.train.items() if key not in ("loss", "label_smoothing", "huber_delta", "class_weight")}
    kind = kinds[settings.pop("optimizer")]
    if "lr_schedule" in settings:
        rate = settings.pop("learning_rate")
        settings["learning_rate"] = keras_schedule(optimizers.schedules, rate, settings, case.updates)
    made = kind(**{names.get(key, key): value for key, value in settings.items()})
    made.exclude_from_weight_decay(var_names=["bias"])
    return made


def normalised_lstm(torch, layer):
    """PyTorch has none with layer normalisation: one of its own operations, step by step (Ba et al. 2016). In double: it divides
    by deviations at every step, and in float it is off by more than the engine may be."""
    class NormalisedLstm(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.own = torch.nn.ParameterDict({name.rpartition(".")[2]: torch.nn.Parameter(torch.empty(shape))
                                               for name, shape in layer.tensors().items()})

        def forward(self, x, state):
            own = {name: parameter.double() for name, parameter in self.own.items()}

            def norm(values, which):
                return torch.nn.functional.layer_norm(values, values.shape[-1:], own[f"norm_{which}_weight"],
                                                      own[f"norm_{which}_bias"], layer.epsilon)
            x, zeros = x.double(), torch.zeros(x.shape[0], layer.cells, dtype=torch.double)
            h, c = state or (zeros, zeros)
            outputs = []
            for step in range(x.shape[1]):
                sums = norm(x[:, step] @ own["weight_ih"].T, "ih") + norm(h @ own["weight_hh"].T, "hh")
                if layer.use_bias:
                    sums = sums + own["bias"]
                i, f, g, o = sums.chunk(4, dim=-1)
                c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
                h = torch.sigmoid(o) * torch.tanh(norm(c, "c"))
                outputs.append(h)
            return torch.stack(outputs, dim=1).float(), (h, c)
    return NormalisedLstm()


class TorchPeer:
    def __init__(self, case):
        import torch
        self.torch, self.case = torch, case
        self.layers = resolve(case)
        self.modules, self.parameters = {}, {}
        self.reset_first = set()  # tensors of a GRU: row blocks r, z, n here, z, r, n in canonical order
        for layer in self.layers:
            if layer.type == "Embedding":
                made = torch.nn.Embedding(layer.inputs, layer.units)
                self.parameters[f"{layer.name}.weight"] = made.weight
            elif layer.normalised:
                made = normalised_lstm(torch, layer)
                self.parameters.update({name: made.own[name.rpartition(".")[2]] for name in layer.tensors()})
            elif layer.type in GATES:
                assert layer.reset_after and not layer.go_backwards, "PyTorch has no such layer"
                kind = {"LSTM": torch.nn.LSTM, "GRU": torch.nn.GRU, "SimpleRNN": torch.nn.RNN}[layer.type]
                own = {"proj_size": layer.units} if layer.projected else {}
                made = kind(layer.inputs, layer.cells, batch_first=True, bias=layer.use_bias, **own)
                self.parameters[f"{layer.name}.weight_ih"] = made.weight_ih_l0
                self.parameters[f"{layer.name}.weight_hh"] = made.weight_hh_l0
                for bias, parameter in zip(layer.biases(), (made.bias_ih_l0, made.bias_hh_l0) if layer.use_bias else ()):
                    self.parameters[f"{layer.name}.{bias}"] = parameter
                if layer.projected:
                    self.parameters[f"{layer.name}.weight_hr"] = made.weight_hr_l0
                if layer.biases() == ["bias"]:
                    made.bias_hh_l0.data.zero_()           # one bias as in Keras: the second stays zero and is not trained,
                    made.bias_hh_l0.requires_grad_(False)  # or the sum of the two would move twice as far
                if layer.type == "GRU":
                    self.reset_first.update(name for name in self.parameters if name.startswith(f"{layer.name}."))
            elif layer.type == "Dense":
                made = torch.nn.Linear(layer.inputs, layer.units)
                if layer.tied_to:
                    made.weight = self.modules[layer.tied_to].weight
                else:
                    self.parameters[f"{layer.name}.weight"] = made.weight
                self.parameters[f"{layer.name}.bias"] = made.bias
            else:
                continue
            self.modules[layer.name] = made

    def load(self, weights):
        torch = self.torch
        assert weights.keys() == self.parameters.keys(), (sorted(weights), sorted(self.parameters))
        with torch.no_grad():
            for name, parameter in self.parameters.items():
                parameter.copy_(torch.from_numpy(self.reordered(name, np.array(weights[name]))))
        self.optimizer = torch.optim.Adam(self.parameters.values(), lr=LEARNING_RATE, betas=(BETA_1, BETA_2), eps=EPSILON)
        self.updates = 0

    def save(self):
        return {name: self.reordered(name, parameter.detach().numpy().copy()) for name, parameter in self.parameters.items()}

    def reordered(self, name, value):
        """Between PyTorch's order of gates and the canonical one; the same way there and back."""
        if name not in self.reset_first:
            return value
        first, second, third = np.split(value, 3)
        return np.concatenate([second, first, third])

    def recurrent(self, module, values, lengths):
        """All steps of a recurrent layer. Truncated: chunk by chunk, the State of one detached and carried into the next."""
        torch, steps, state = self.torch, values.shape[1], None
        if "truncate" not in self.case.train and isinstance(module, torch.nn.RNNBase):
            packed = torch.nn.utils.rnn.pack_padded_sequence(values, lengths, batch_first=True, enforce_sorted=False)
            return torch.nn.utils.rnn.pad_packed_sequence(module(packed)[0], batch_first=True, total_length=steps)[0]
        chunks = []
        for chunk in values.split(self.case.train.get("truncate", steps), dim=1):  # steps behind a row's end are not looked at
            chunk, state = module(chunk, state)
            state = tuple(part.detach() for part in state) if isinstance(state, tuple) else state.detach()
            chunks.append(chunk)
        return torch.cat(chunks, dim=1)

    def outputs(self, x, lengths):
        torch = self.torch
        rows = torch.arange(len(lengths))
        lengths = torch.from_numpy(lengths)
        mask = torch.arange(x.shape[1]) < lengths[:, None]
        per_step, found = True, {"input": torch.from_numpy(x)}
        activations = {"linear": lambda v: v, "relu": torch.relu, "tanh": torch.tanh, "sigmoid": torch.sigmoid}
        for layer in self.layers:
            values = found[layer.reads[0]]
            if layer.type == "Concatenate":
                values = torch.cat([found[read] for read in layer.reads], dim=-1)
            elif layer.type in MERGES:
                for read in layer.reads[1:]:
                    values = values + found[read] if layer.type == "Add" else values * found[read]
            elif layer.type == "Embedding":
                values = self.modules[layer.name](values.long())
            elif layer.type in GATES:
                values = self.recurrent(self.modules[layer.name], values, lengths)
                if not layer.return_sequences:
                    values, per_step = values[rows, lengths - 1], False
            elif layer.type == "Pooling":
                if layer.mode == "last":
                    values = values[rows, lengths - 1]
                elif layer.mode == "mean":
                    values = torch.stack([row[:length].mean(0) for row, length in zip(values, lengths)])
                else:
                    values = torch.stack([row[:length].max(0).values for row, length in zip(values, lengths)])
                per_step = False
            else:
                values = activations[layer.activation](self.modules[layer.name](values))
            found[layer.name] = values
        return values[mask] if per_step else values

    def start_epoch(self):
        assert not any(layer.stateful or layer.initial_state or layer.return_state for layer in self.layers), "judged by Keras"

    def forward_backward(self, x, y, lengths, weights, start):
        torch = self.torch
        assert np.all(weights == 1) or self.case.ctc, "PyTorch's other losses are compared without weights"
        if self.case.per_step:
            y = np.concatenate([row[:length] for row, length in zip(y, lengths)])
        self.optimizer.zero_grad()
        outputs = self.outputs(x, lengths)
        if self.case.ctc:
            loss = (self.ctc(outputs, y, lengths) * torch.from_numpy(weights)).mean()
        elif self.case.task == "classify":
            loss = torch.nn.functional.cross_entropy(outputs, torch.from_numpy(y).long())
        else:
            loss = torch.nn.functional.mse_loss(outputs[:, 0], torch.from_numpy(y))
        loss.backward()
        return loss.item(), outputs.detach().numpy(), {name: self.reordered(name, p.grad.numpy().copy())
                                                                for name, p in self.parameters.items()}

    def ctc(self, outputs, y, lengths):
        """The loss of each sample, in double: in float it is off by more than the engine may be."""
        torch = self.torch
        steps = torch.nn.utils.rnn.pad_sequence(outputs.double().split(lengths.tolist()))
        return torch.nn.functional.ctc_loss(torch.log_softmax(steps, dim=-1), torch.from_numpy(y).long(),
                                            torch.from_numpy(lengths), torch.from_numpy((y != 0).sum(axis=1)), blank=0,
                                            reduction="none")

    def update(self):
        # PyTorch adds epsilon after the second moment's bias was corrected, Keras before; this epsilon makes them equal.
        self.updates += 1
        self.optimizer.param_groups[0]["eps"] = EPSILON / np.sqrt(1 - BETA_2 ** self.updates)
        self.optimizer.step()


def canonical(value, transposed):
    if transposed:
        value = value.reshape(-1, value.shape[-1]).T  # a convolution's kernel is (steps, inputs, filters)
    return np.ascontiguousarray(value)
