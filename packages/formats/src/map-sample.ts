import { AccError } from '@acc/contract';

/** @param at The number of the sample in its file, from 0, and the file. */
export type MapSample<Sample, Mapped> = (
  sample: Sample,
  at: { readonly file: string; readonly row: number },
) => Mapped | PromiseLike<Mapped>;

/** @throws AccError `ACC_DATA_DATASET` if the module cannot be imported or exports no function. */
export async function openMap(
  map: MapSample<never, unknown> | URL | string | undefined,
): Promise<MapSample<unknown, unknown> | undefined> {
  if (map === undefined || typeof map === 'function') return map as MapSample<unknown, unknown> | undefined;
  let exported: unknown;
  try {
    exported = ((await import(String(map))) as { default?: unknown }).default;
  } catch (cause) {
    const { message } = cause as Error;
    throw new AccError('ACC_DATA_DATASET', `The module of 'map' cannot be imported: ${message}.`, {
      help: "Give its address: map: new URL('./decode.js', import.meta.url).",
      cause,
    });
  }
  if (typeof exported === 'function') return exported as MapSample<unknown, unknown>;
  throw new AccError(
    'ACC_DATA_DATASET',
    `The module of 'map', ${String(map)}, has no function as default export.`,
    {
      help: 'Write: export default (sample) => …',
    },
  );
}

/** The address of a map for another thread. Undefined: the map is a function, which stays in this thread. */
export function movableMap(
  map: MapSample<never, unknown> | URL | string | undefined,
): { readonly map: string | undefined } | undefined {
  if (typeof map === 'function') return undefined;
  return { map: map === undefined ? undefined : String(map) };
}
