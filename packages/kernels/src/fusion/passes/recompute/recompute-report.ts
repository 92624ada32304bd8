import { shortName, typeText } from '../../report.js';
import type { Schedule } from './schedule.js';

/** Collects which values programs compute again. */
export class RecomputeReport {
  #lines: readonly string[] = [];

  /** @param values Those that are not kept any more. */
  set(values: readonly number[], savedBytes: number, schedule: Schedule): void {
    const counts = new Map<string, number>();
    for (const value of values) {
      const { node } = schedule.makerOf(value)!;
      const name = node.kind === 'call' ? shortName(node.op) : node.kind;
      const text = `${name}, ${typeText(schedule.graph.values[value]!)}`;
      counts.set(text, (counts.get(text) ?? 0) + 1);
    }
    if (counts.size === 0) return;
    const mebibytes = savedBytes / 2 ** 20;
    // The pass may also save reading and writing alone.
    const saved =
      mebibytes < 0.05 ? '' : `, with ${mebibytes.toFixed(1)} MiB less in memory at the same time`;
    this.#lines = [
      `recomputed in later programs instead of kept${saved}:`,
      ...[...counts].map(([text, count]) => `  ${count} × ${text}`),
    ];
  }

  /** Empty if nothing is computed again. */
  lines(): readonly string[] {
    return this.#lines;
  }
}
