// Which functions of the sources a script executed.
import { fileURLToPath } from 'node:url';
import type { FunctionUnit } from '../source/units.js';
import { decodeMap, mappingsAround, type Mapping } from './source-map.js';

/** A source with its functions. */
export interface Source {
  readonly path: string;
  readonly lineStarts: readonly number[];
  readonly functions: readonly FunctionUnit[];
}

/** The text that vitest writes before the code of a module, on its first line. */
const WRAPPER = /^'use strict';async \([^)]*\)=>\{\{/;
const COMMENT = '//# sourceMappingURL=';
const INLINE = /^data:application\/json[^,]*;base64,([\w+/=]+)/;
const BESIDE = /^\S+\.map(?=\s*$)/;

export interface MappedScript {
  /** The sources of the script, as absolute paths. */
  readonly sources: readonly string[];
  /** The functions that V8 may mean by the one that begins at `offset`. */
  functionsAt(offset: number, sourceOf: (path: string) => Source | undefined): [Source, FunctionUnit][];
}

/**
 * A script with the places of its functions in the sources.
 *
 * @param text The script as it ran.
 * @param url Where it was loaded from. The paths in its source map are relative to it.
 * @param readMap Reads a source map beside the script.
 * @returns Undefined if the script has no source map.
 */
export function mappedScript(
  text: string,
  url: string,
  readMap: (url: string) => string | undefined,
): MappedScript | undefined {
  const json = sourceMapOf(text, url, readMap);
  if (json === undefined) return undefined;
  const map = decodeMap(json);
  const sources = map.sources.map((path) => pathOf(new URL(path, url)));
  const prefix = WRAPPER.exec(text)?.[0].length ?? 0;
  const lineStarts = lineStartsOf(text);
  return {
    sources: sources.filter((path) => path !== undefined),
    functionsAt(offset, sourceOf) {
      const line = lastAtMost(lineStarts, offset);
      const column = offset - lineStarts[line]! - (line === 0 ? prefix : 0);
      return functionsBetween(mappingsAround(map, line, column), (index) => {
        const path = sources[index];
        return path === undefined ? undefined : sourceOf(path);
      });
    },
  };
}

/** Undefined for a source that has no file: one that a bundler made. */
const pathOf = (url: URL): string | undefined => (url.protocol === 'file:' ? fileURLToPath(url) : undefined);

function sourceMapOf(
  text: string,
  url: string,
  readMap: (url: string) => string | undefined,
): string | undefined {
  const at = text.lastIndexOf(COMMENT);
  if (at < 0) return undefined;
  const link = text.slice(at + COMMENT.length);
  const inline = INLINE.exec(link)?.[1];
  if (inline !== undefined) return Buffer.from(inline, 'base64').toString();
  const beside = BESIDE.exec(link)?.[0];
  return beside === undefined ? undefined : readMap(new URL(beside, url).href);
}

/**
 * If the start of a function is mapped, that is the function. Otherwise it is one that begins
 * between the two mappings: compilers do not map each arrow function. If several do, all are meant,
 * because a function too many only selects a test too many.
 */
function functionsBetween(
  [before, behind]: ReturnType<typeof mappingsAround>,
  sourceOf: (index: number) => Source | undefined,
): [Source, FunctionUnit][] {
  if (behind?.source === undefined) return [];
  const source = sourceOf(behind.source);
  if (!source) return [];
  const end = offsetIn(source, behind);
  const around = source.functions.filter((unit) => unit.start <= end && end < unit.end);
  const isBefore = before !== undefined && before !== behind && before.source === behind.source;
  const start = isBefore ? offsetIn(source, before) : end;
  const begun = around.filter((unit) => start < unit.start);
  if (begun.length > 0) return begun.map((unit) => [source, unit]);
  const heads = around.filter((unit) => end <= unit.bodyStart);
  return (heads.length > 0 ? heads : around).slice(-1).map((unit) => [source, unit]);
}

const offsetIn = (source: Source, { sourceLine, sourceColumn }: Mapping): number =>
  source.lineStarts[sourceLine]! + sourceColumn;

export function lineStartsOf(text: string): number[] {
  const starts = [0];
  for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', at + 1)) starts.push(at + 1);
  return starts;
}

/** The last index whose value is at most `value`, in ascending values that begin with 0. */
function lastAtMost(values: readonly number[], value: number): number {
  let [low, high] = [0, values.length - 1];
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if (values[middle]! <= value) low = middle;
    else high = middle - 1;
  }
  return low;
}
