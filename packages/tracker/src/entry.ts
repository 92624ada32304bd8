import type { RunConfig, TrackedArtifact, TrackedHistogram, TrackedModel, TrackedTable } from '@acc/contract';
import type { Picture } from './payload/picture.js';

/** Logged data, without step and time. */
export type Payload =
  | { readonly kind: 'metrics'; readonly metrics: Readonly<Record<string, number>> }
  | { readonly kind: 'config'; readonly config: RunConfig }
  | { readonly kind: 'text'; readonly key: string; readonly text: string }
  | { readonly kind: 'image'; readonly key: string; readonly image: Picture }
  | { readonly kind: 'histogram'; readonly key: string; readonly histogram: TrackedHistogram }
  | { readonly kind: 'table'; readonly key: string; readonly table: TrackedTable }
  | { readonly kind: 'artifact'; readonly artifact: TrackedArtifact }
  | { readonly kind: 'model'; readonly artifact: TrackedModel };

/** One logged item that waits for a tracker. */
export type Entry = Payload & {
  readonly step: number;
  readonly sequence: number;
  readonly timeMs: number;
};

export type MetricsEntry = Entry & { readonly kind: 'metrics' };

/** The approximate memory of an entry, in bytes. */
export function bytesOf(entry: Entry): number {
  const OVERHEAD = 100;
  switch (entry.kind) {
    case 'metrics':
      return OVERHEAD + 50 * Object.keys(entry.metrics).length;
    case 'text':
      return OVERHEAD + 2 * entry.text.length;
    case 'image':
      return OVERHEAD + entry.image.bytes;
    case 'histogram':
      return OVERHEAD + 16 * entry.histogram.edges.length;
    case 'table':
      return OVERHEAD + 50 * entry.table.columns.length * entry.table.rows.length;
    case 'artifact':
    case 'model':
      return OVERHEAD + 200 * entry.artifact.files.length;
    case 'config':
      return OVERHEAD;
  }
}
