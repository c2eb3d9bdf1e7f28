// side_by_side-inl: the same operation on several vectors at a time.
//   A sigmoid is twenty operations of which each waits four cycles for the one before; a core's list of waiting operations is
//   full before it has found enough of the next row's. Written side by side, the other rows' operations are what it finds.
//   Included once for each Highway target (hence the guard that toggles).
//   Functions here have the names of Highway's: code that does not say hn:: before a name takes a vector or several of them.
#if defined(PLIMSOLL_SIDE_BY_SIDE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef PLIMSOLL_SIDE_BY_SIDE_INL_H_
#undef PLIMSOLL_SIDE_BY_SIDE_INL_H_
#else
#define PLIMSOLL_SIDE_BY_SIDE_INL_H_
#endif

#include <hwy/highway.h>

#include <cstddef>
#include <cstdint>
#include <utility>

HWY_BEFORE_NAMESPACE();
namespace plimsoll {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// N vectors of kind D: as a tag, and what it stands for.
template <class D, size_t N>
struct SideBySide {};
template <class V, size_t N>
struct Vectors {
  V at[N];
};

// function(k) for each of N.
template <size_t N, class Function, size_t... k>
HWY_INLINE auto Each(const Function& function, std::index_sequence<k...>) {
  return Vectors<decltype(function(size_t{0})), N>{{function(k)...}};
}
template <size_t N, class Function>
HWY_INLINE auto Each(const Function& function) {
  return Each<N>(function, std::make_index_sequence<N>());
}
// function of the first of each operand, then of the second.
template <class Function, size_t N, class... V>
HWY_INLINE auto Lift(const Function& function, const Vectors<V, N>&... operands) {
  return Each<N>([&](size_t k) { return function(operands.at[k]...); });
}

template <class D, size_t N>
HWY_INLINE auto Set(SideBySide<D, N>, float value) {
  return Each<N>([&](size_t) { return hn::Set(D(), value); });
}
template <class D, size_t N>
HWY_INLINE auto Zero(SideBySide<D, N>) {
  return Each<N>([&](size_t) { return hn::Zero(D()); });
}
template <class D, size_t N>
HWY_INLINE auto SignBit(SideBySide<D, N>) {
  return Each<N>([&](size_t) { return hn::SignBit(D()); });
}

template <class V, size_t N>
HWY_INLINE auto Abs(const Vectors<V, N>& a) {
  return Lift([](V x) { return hn::Abs(x); }, a);
}
template <class V, size_t N>
HWY_INLINE auto Add(const Vectors<V, N>& a, const Vectors<V, N>& b) {
  return Lift([](V x, V y) { return hn::Add(x, y); }, a, b);
}
template <class V, size_t N>
HWY_INLINE auto Sub(const Vectors<V, N>& a, const Vectors<V, N>& b) {
  return Lift([](V x, V y) { return hn::Sub(x, y); }, a, b);
}
template <class V, size_t N>
HWY_INLINE auto Mul(const Vectors<V, N>& a, const Vectors<V, N>& b) {
  return Lift([](V x, V y) { return hn::Mul(x, y); }, a, b);
}
template <class V, size_t N>
HWY_INLINE auto MulAdd(const Vectors<V, N>& a, const Vectors<V, N>& b, const Vectors<V, N>& c) {
  return Lift([](V x, V y, V z) { return hn::MulAdd(x, y, z); }, a, b, c);
}
template <class V, size_t N>
HWY_INLINE auto NegMulAdd(const Vectors<V, N>& a, const Vectors<V, N>& b, const Vectors<V, N>& c) {
  return Lift([](V x, V y, V z) { return hn::NegMulAdd(x, y, z); }, a, b, c);
}
template <class V, size_t N>
HWY_INLINE auto Max(const Vectors<V, N>& a, const Vectors<V, N>& b) {
  return Lift([](V x, V y) { return hn::Max(x, y); }, a, b);
}
template <class V, size_t N>
HWY_INLINE auto Or(const Vectors<V, N>& a, const Vectors<V, N>& b) {
  return Lift([](V x, V y) { return hn::Or(x, y); }, a, b);
}
template <class V, size_t N>
HWY_INLINE auto CopySign(const Vectors<V, N>& a, const Vectors<V, N>& b) {
  return Lift([](V x, V y) { return hn::CopySign(x, y); }, a, b);
}
template <class V, size_t N>
HWY_INLINE auto Lt(const Vectors<V, N>& a, const Vectors<V, N>& b) {
  return Lift([](V x, V y) { return hn::Lt(x, y); }, a, b);
}
template <class M, class V, size_t N>
HWY_INLINE auto IfThenElse(const Vectors<M, N>& mask, const Vectors<V, N>& a, const Vectors<V, N>& b) {
  return Lift([](M m, V x, V y) { return hn::IfThenElse(m, x, y); }, mask, a, b);
}

// Rows that lie `stride` apart, one vector of each; with a plain tag the first row alone.
template <class D, size_t N>
HWY_INLINE auto LoadRows(SideBySide<D, N>, const float* from, int64_t stride) {
  return Each<N>([&](size_t k) { return hn::LoadU(D(), from + static_cast<int64_t>(k) * stride); });
}
template <class D>
HWY_INLINE auto LoadRows(D d, const float* from, int64_t /*stride*/) {
  return hn::LoadU(d, from);
}
template <class V, class D, size_t N>
HWY_INLINE void StoreRows(const Vectors<V, N>& rows, SideBySide<D, N>, float* to, int64_t stride) {
  for (size_t k = 0; k < N; ++k) hn::StoreU(rows.at[k], D(), to + static_cast<int64_t>(k) * stride);
}
template <class V, class D>
HWY_INLINE void StoreRows(V row, D d, float* to, int64_t /*stride*/) {
  hn::StoreU(row, d, to);
}

}  // namespace HWY_NAMESPACE
}  // namespace plimsoll
HWY_AFTER_NAMESPACE();

#endif  // toggle
