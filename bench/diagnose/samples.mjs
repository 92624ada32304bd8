const DIFFERENT = 500;

/**
 * Noisy waves, whose class is their phase. Worker threads make them, too.
 *
 * @param rounds How often a sample is decoded, which takes the processor.
 * @param readMs Milliseconds in which a sample is read, which leaves the processor idle.
 */
export default function samples({ width, classes, rounds = 0, readMs = 0 }) {
  const all = Array.from({ length: DIFFERENT }, (_, i) => ({
    xs: Float32Array.from(
      { length: width },
      (__, j) => Math.sin((i % classes) + 0.1 * j) + Math.sin(7.3 * i + j * j),
    ),
    ys: Int32Array.of(i % classes),
  }));
  const make = (i) => {
    const { xs, ys } = all[i % DIFFERENT];
    if (rounds === 0) return { xs, ys };
    const decoded = xs.slice();
    for (let k = 0; k < rounds * width; k++) decoded[k % width] += 1e-9 * Math.sin(k);
    return { xs: decoded, ys };
  };
  const get = readMs > 0 ? (i) => sleep(readMs).then(() => make(i)) : make;
  return { length: 1_000_000, get };
}

function sleep(ms) {
  return new Promise((resolve) => void setTimeout(resolve, ms));
}
