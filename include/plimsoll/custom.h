// custom: layers, losses and metrics of one's own, for programs that use the library.
//   A layer turns each row into a row: in training a block of steps at a time, with no step knowing of another. The mathematics
//   is written once, as templates over float and double: the engine runs it in float inside the plan, and `Verify` judges it in
//   double. A class derives from CustomLayerOf<itself> and has
//     int64_t Width(int64_t inputs) const override;                     // of the output
//     std::vector<CustomTensor> Weights(int64_t inputs) const override; // where it has some
//     template <typename T> void Compute(const CustomForward<T>& at) const;
//     template <typename T> void Differentiate(const CustomBackward<T>& at) const;
//   It is used as a layer of a job: CustomOptions{.function = "swish", .layer = std::make_shared<Swish>()}.
//   Calls of Compute come from several threads at once, each with rows of its own; Differentiate from one thread.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "plimsoll/options.h"

namespace plimsoll {

// A tensor of weights, for files and for the optimizer: one dimension (which weight decay leaves alone) or two.
struct CustomTensor {
  std::string name;
  std::vector<int64_t> shape;
  Initializer start = Initializer::Zeros;
};

template <typename T>
struct CustomForward {
  int64_t rows = 0;
  int64_t inputs = 0;  // elements of a row of x
  int64_t width = 0;   // of y
  const T* x = nullptr;
  int64_t x_stride = 0;  // elements between rows
  T* y = nullptr;
  int64_t y_stride = 0;
  std::span<const T* const> weights;  // in the order of Weights(), each row after row

  const T* x_row(int64_t row) const { return x + row * x_stride; }
  T* y_row(int64_t row) const { return y + row * y_stride; }
};

template <typename T>
struct CustomBackward {
  CustomForward<T> forward;  // y is what Compute gave
  const T* d_y = nullptr;
  int64_t d_y_stride = 0;
  T* d_x = nullptr;  // to be written; null where nobody wants it
  int64_t d_x_stride = 0;
  std::span<T* const> d_weights;  // to be added to; empty where the layer does not learn

  const T* d_y_row(int64_t row) const { return d_y + row * d_y_stride; }
  T* d_x_row(int64_t row) const { return d_x + row * d_x_stride; }
};

class CustomLayer {
 public:
  virtual ~CustomLayer() = default;
  virtual int64_t Width(int64_t inputs) const = 0;
  virtual std::vector<CustomTensor> Weights(int64_t /*inputs*/) const { return {}; }
  virtual void Forward(const CustomForward<float>& at) const = 0;
  virtual void Forward(const CustomForward<double>& at) const = 0;
  virtual void Backward(const CustomBackward<float>& at) const = 0;
  virtual void Backward(const CustomBackward<double>& at) const = 0;
};

template <typename Own>
class CustomLayerOf : public CustomLayer {
 public:
  void Forward(const CustomForward<float>& at) const final { own().Compute(at); }
  void Forward(const CustomForward<double>& at) const final { own().Compute(at); }
  void Backward(const CustomBackward<float>& at) const final { own().Differentiate(at); }
  void Backward(const CustomBackward<double>& at) const final { own().Differentiate(at); }

 private:
  const Own& own() const { return static_cast<const Own&>(*this); }
};

// A loss of values: what one item costs, given what the model gave and what was wanted, and its gradient. It takes part in a
// mean over all items. A class derives from CustomLossOf<itself> and has
//   template <typename T> T Item(const T* y, const T* target, int64_t width, T* d_y) const;
// It is used as train.custom_loss of a job with task "regress". Calls come from several threads at once.
class CustomLoss {
 public:
  virtual ~CustomLoss() = default;
  virtual float Of(const float* y, const float* target, int64_t width, float* d_y) const = 0;
  virtual double Of(const double* y, const double* target, int64_t width, double* d_y) const = 0;
};

template <typename Own>
class CustomLossOf : public CustomLoss {
 public:
  float Of(const float* y, const float* target, int64_t width, float* d_y) const final {
    return static_cast<const Own&>(*this).Item(y, target, width, d_y);
  }
  double Of(const double* y, const double* target, int64_t width, double* d_y) const final {
    return static_cast<const Own&>(*this).Item(y, target, width, d_y);
  }
};

// A figure of one's own over the scored data, beside loss and accuracy: Score::metric. Items come one after the other, from one
// thread, in an order that does not change. It must not allocate in Item where the run's flat memory is to be kept.
class CustomMetric {
 public:
  virtual ~CustomMetric() = default;
  virtual void Start() = 0;  // before the first item of a score
  // What the model gave (logits, where there are classes), and the class number or the values that were wanted.
  virtual void Item(std::span<const float> y, int32_t wanted_class, std::span<const float> wanted_values) = 0;
  virtual double Value() const = 0;  // after the last one
};

}  // namespace plimsoll
