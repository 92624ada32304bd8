const REDRAW_MS = 1000;

/**
 * The line that counts jobs while they run. It is not shown if the output is not a terminal.
 *
 * @param {number} total The number of jobs.
 */
export function progressLine(total, stream = process.stdout) {
  const running = new Map();
  const counts = { done: 0, passed: 0, failed: 0 };
  const timer = stream.isTTY ? setInterval(draw, REDRAW_MS) : undefined;
  timer?.unref();
  function erase() {
    if (stream.isTTY) stream.write('\r\x1b[K');
  }
  function draw() {
    if (!stream.isTTY) return;
    const { done, passed, failed } = counts;
    const names = [...running].map(([name, startedAt]) => `${name} ${secondsSince(startedAt)} s`);
    const text = `${done} of ${total} jobs, ${passed} passed, ${failed} failed · ${names.join(' · ')}`;
    stream.write(`\r\x1b[K${text.slice(0, stream.columns - 1)}`);
  }
  return {
    started({ name }) {
      running.set(name, performance.now());
      draw();
    },
    ended({ name }, result) {
      running.delete(name);
      counts.done++;
      counts.passed += result?.passed ?? 0;
      counts.failed += result?.failed ?? 0;
    },
    /** Prints other lines in place of the progress. */
    around(print) {
      erase();
      print();
      draw();
    },
    clear() {
      clearInterval(timer);
      erase();
    },
  };
}

const secondsSince = (start) => Math.round((performance.now() - start) / 1000);
