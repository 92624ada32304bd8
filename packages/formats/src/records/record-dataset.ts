import { formatInWorker, type FormatName } from '#platform/formats';
import { blockDataset, type BlockDataset } from '../blocks/block-dataset.js';
import { badFormat, describePlace, type SamplePlace } from '../errors.js';
import type { ResolvedFileOptions } from '../file-options.js';
import { defaultIndexFolder, indexOf } from '../indexes/index-folder.js';
import { movableMap, openMap } from '../map-sample.js';
import { mapConcurrently } from '../sources/map-concurrently.js';
import { resolveLocations, type Locations } from '../sources/locations.js';
import { openSource, sourceOf } from '../sources/open-source.js';
import { showScans } from '../sources/read-forward.js';
import type { Source, SourceState } from '../sources/source.js';
import { splitBlocks, defaultBlockBytes, type RecordBlock } from './record-blocks.js';
import type { RecordFormat } from './record-format.js';

/** Everything that a thread needs to read the samples. It can be sent to another thread. */
export interface RecordState {
  readonly files: readonly SourceState[];
  /** For each file, where its samples start, and where the last one ends. In shared memory. */
  readonly starts: readonly Float64Array[];
  readonly blockBytes: number;
}

/** How worker threads make the same {@link RecordFormat}. */
export interface MovableFormat {
  readonly name: FormatName;
  /** Plain options. */
  readonly options: object;
}

/** The number of files that are looked at, or scanned, at a time. */
const OPENED_AT_A_TIME = 8;

/** How the samples of files are found. */
export type Framing = Pick<RecordFormat<unknown>, 'framing' | 'scan' | 'unit'>;

/**
 * Opens files, and takes the places of their samples from index files, or finds them by a scan. Each file is scanned
 * by one of the processes that open it at the same time and share the folder of indexes.
 *
 * @throws AccError `ACC_DATA_NOT_FOUND`, `ACC_DATA_READ`, `ACC_DATA_RANGES`, `ACC_DATA_FORMAT`.
 */
export async function openRecordFiles(
  locations: Locations,
  { framing, scan, unit }: Framing,
  options: ResolvedFileOptions,
): Promise<RecordState> {
  const { indexFolder: folder = defaultIndexFolder(), onScan = showScans(), maxSampleBytes } = options;
  const paths = await resolveLocations(locations, options);
  const opened = await mapConcurrently(paths, OPENED_AT_A_TIME, async (location) => {
    const source = await openSource(location, options);
    const make = () => scan(source, onScan);
    return { file: source.state, index: await indexOf(source, framing, { folder, make }) };
  });
  // First come the files that no other process scans, so that processes share the work.
  const starts = await mapConcurrently(opened, OPENED_AT_A_TIME, async ({ index }) =>
    index instanceof Float64Array ? index : index(),
  );
  opened.forEach(({ file }, i) =>
    requireSmall({ file: sourceOf(file).name, unit }, starts[i]!, maxSampleBytes),
  );
  const blockBytes = options.blockBytes ?? defaultBlockBytes(starts);
  return { files: opened.map(({ file }) => file), starts, blockBytes };
}

/** Before memory is taken for a block. */
function requireSmall(
  place: Pick<SamplePlace, 'file' | 'unit'>,
  starts: Float64Array,
  maxSampleBytes: number,
): void {
  for (let row = 0; row + 1 < starts.length; row++) {
    const bytes = starts[row + 1]! - starts[row]!;
    if (bytes > maxSampleBytes) {
      throw badFormat({ ...place, row }, `it has ${bytes} bytes, and at most ${maxSampleBytes} are read`, {
        help: 'If it is meant to be so long, set the option maxSampleBytes.',
      });
    }
  }
}

/**
 * The samples of files that are open.
 *
 * @param movable Undefined: worker threads cannot open them.
 */
export async function recordDataset<Sample>(
  state: RecordState,
  format: RecordFormat<unknown>,
  { map }: ResolvedFileOptions,
  movable: MovableFormat | undefined,
): Promise<BlockDataset<Sample>> {
  const sent = movable && movableMap(map);
  const inWorker = (cachedBlocks: number) =>
    formatInWorker(movable!.name, { ...state, ...sent, options: movable!.options, cachedBlocks });
  const dataset = openRecords(state, format, { map: await openMap(map), inWorker: sent && inWorker });
  return dataset as BlockDataset<Sample>;
}

/** Opens the same samples in a worker thread. */
export async function recordsInWorker(
  state: RecordState & { readonly map: string | undefined; readonly cachedBlocks: number },
  format: RecordFormat<unknown>,
): Promise<BlockDataset<unknown>> {
  const { cachedBlocks } = state;
  return openRecords(state, format, { map: await openMap(state.map), cachedBlocks });
}

type OpenOptions = Parameters<typeof blockDataset>[1] & { readonly map: Awaited<ReturnType<typeof openMap>> };

function openRecords(
  { files, starts, blockBytes }: RecordState,
  format: RecordFormat<unknown>,
  { map, ...options }: OpenOptions,
): BlockDataset<unknown> {
  const sources = files.map((file) => sourceOf(file));
  const blocks = splitBlocks(starts, blockBytes);
  const placeOf = ({ file, first }: RecordBlock, row: number) => {
    return { file: sources[file]!.name, row: first + row, unit: format.unit };
  };
  return blockDataset<Uint8Array, unknown>(
    {
      blocks: blocks.map(({ samples }) => samples),
      load: (block) => readBlock(blocks[block]!, sources, starts),
      sample(bytes, number, row) {
        const block = blocks[number]!;
        const place = placeOf(block, row);
        const index = starts[block.file]!;
        const from = index[block.first]!;
        const at = block.first + row;
        const sample = format.decode(bytes.subarray(index[at]! - from, index[at + 1]! - from), place);
        if (!map) return sample;
        return isPromise(sample) ? sample.then((decoded) => map(decoded, place)) : map(sample, place);
      },
      nameOf: (block, row) => describePlace(placeOf(blocks[block]!, row)),
    },
    options,
  );
}

function readBlock(
  { file, first, samples }: RecordBlock,
  sources: readonly Source[],
  starts: readonly Float64Array[],
): Promise<Uint8Array> {
  const index = starts[file]!;
  return sources[file]!.read(index[first]!, index[first + samples]!);
}

function isPromise(value: unknown): value is PromiseLike<unknown> {
  return typeof value === 'object' && value !== null && 'then' in value && typeof value.then === 'function';
}
