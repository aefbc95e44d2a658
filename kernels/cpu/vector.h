/* kernels/cpu/vector.h — LANES floats at a time, for the files that are built once for each set of
 * instructions. No intrinsics: gcc and clang give these types on every machine. */
#ifndef SW_KERNELS_CPU_VECTOR_H
#define SW_KERNELS_CPU_VECTOR_H

#include <stddef.h>
#include <string.h>

#define WIDTH(n) vector_size((n) * sizeof(float))
typedef float vec __attribute__((WIDTH(LANES)));
typedef float vec_at __attribute__((WIDTH(LANES), aligned(sizeof(float)), may_alias));
typedef float vec8 __attribute__((WIDTH(8)));
typedef float vec4 __attribute__((WIDTH(4)));
typedef float vec4_at __attribute__((WIDTH(4), aligned(sizeof(float)), may_alias));
/* Integers as wide as a lane: what comparing gives, all ones where it holds. (tests/float64 builds
 * these files with double for float.) */
typedef __typeof__(_Generic((float)0, double : 0L, default : 0)) lane_int;
typedef lane_int ivec __attribute__((WIDTH(LANES)));
typedef lane_int ivec4 __attribute__((WIDTH(4)));

#define INLINE static inline __attribute__((always_inline))
#ifdef SW_CPU_ROLLED /* for sanitizers, whose checks of the unrolled tiles compile for minutes */
#define UNROLL
#elif defined(__clang__)
#define UNROLL _Pragma("unroll")
#else
#define UNROLL _Pragma("GCC unroll 32")
#endif

INLINE vec load(const float *p)
{
	return *(const vec_at *)p;
}

INLINE void store(float *p, vec v)
{
	*(vec_at *)p = v;
}

INLINE vec splat(float x)
{
	return x - (vec){0}; /* x + 0 would turn -0 around */
}

/* max(v, 0), NaN stays NaN */
INLINE vec relu(vec v)
{
	return (vec)((ivec)v & ~(v <= 0.0f));
}

INLINE vec act_of(vec v, enum sw_act act)
{
	return act == SW_ACT_RELU ? relu(v) : v;
}

/* The sum of the lanes, in a tree. */
INLINE float lanes_sum(vec v)
{
	float x[LANES];

	store(x, v);
	for (size_t n = LANES / 2; n; n /= 2)
		for (size_t i = 0; i < n; i++)
			x[i] += x[i + n];
	return x[0];
}

/* The sums of the lanes of four vectors. */
INLINE vec4 lanes_sum4(vec a, vec b, vec c, vec d)
{
	vec4 v[4];
	const vec from[4] = {a, b, c, d};

	UNROLL
	for (size_t k = 0; k < 4; k++) {
#if LANES == 16
		const vec8 e =
			__builtin_shufflevector(from[k], from[k], 0, 1, 2, 3, 4, 5, 6, 7) +
			__builtin_shufflevector(from[k], from[k], 8, 9, 10, 11, 12, 13, 14, 15);
#elif LANES == 8
		const vec8 e = from[k];
#endif
#if LANES == 4
		v[k] = from[k];
#else
		v[k] = __builtin_shufflevector(e, e, 0, 1, 2, 3) +
		       __builtin_shufflevector(e, e, 4, 5, 6, 7);
#endif
	}
	const vec4 ab = __builtin_shufflevector(v[0], v[1], 0, 4, 2, 6) +
			__builtin_shufflevector(v[0], v[1], 1, 5, 3, 7);
	const vec4 cd = __builtin_shufflevector(v[2], v[3], 0, 4, 2, 6) +
			__builtin_shufflevector(v[2], v[3], 1, 5, 3, 7);

	return __builtin_shufflevector(ab, cd, 0, 1, 4, 5) +
	       __builtin_shufflevector(ab, cd, 2, 3, 6, 7);
}

/* All ones in the last n lanes. */
INLINE ivec last_lanes(size_t n)
{
	ivec lane;

	for (int i = 0; i < LANES; i++)
		lane[i] = i;
	return lane >= LANES - (int)n;
}

/* v where mask has ones, else 0 */
INLINE vec only(vec v, ivec mask)
{
	return (vec)((ivec)v & mask);
}

/* dst[c][r] = src[r][c] for r < rows, c < cols */
INLINE void transpose(const float *src, size_t src_stride, float *dst, size_t dst_stride,
		      size_t rows, size_t cols)
{
	size_t r = 0;

	for (; r + 4 <= rows; r += 4, src += 4 * src_stride) {
		size_t c = 0;

		for (; c + 4 <= cols; c += 4) {
			const vec4 a = *(const vec4_at *)(src + c);
			const vec4 b = *(const vec4_at *)(src + src_stride + c);
			const vec4 d = *(const vec4_at *)(src + 2 * src_stride + c);
			const vec4 e = *(const vec4_at *)(src + 3 * src_stride + c);
			const vec4 ab0 = __builtin_shufflevector(a, b, 0, 4, 1, 5);
			const vec4 ab1 = __builtin_shufflevector(a, b, 2, 6, 3, 7);
			const vec4 de0 = __builtin_shufflevector(d, e, 0, 4, 1, 5);
			const vec4 de1 = __builtin_shufflevector(d, e, 2, 6, 3, 7);
			float *to = dst + c * dst_stride + r;

			*(vec4_at *)to = __builtin_shufflevector(ab0, de0, 0, 1, 4, 5);
			*(vec4_at *)(to + dst_stride) =
				__builtin_shufflevector(ab0, de0, 2, 3, 6, 7);
			*(vec4_at *)(to + 2 * dst_stride) =
				__builtin_shufflevector(ab1, de1, 0, 1, 4, 5);
			*(vec4_at *)(to + 3 * dst_stride) =
				__builtin_shufflevector(ab1, de1, 2, 3, 6, 7);
		}
		for (; c < cols; c++)
			for (size_t k = 0; k < 4; k++)
				dst[c * dst_stride + r + k] = src[k * src_stride + c];
	}
	for (; r < rows; r++, src += src_stride)
		for (size_t c = 0; c < cols; c++)
			dst[c * dst_stride + r] = src[c];
}

#endif
