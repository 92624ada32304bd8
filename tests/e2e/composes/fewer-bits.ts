// The table of the guide on quantization: its rows, its columns, and whether a row and a column go together.
// The test trains each cell, and compares the guide with this.
import { REFUSALS, type Feature } from '../../../packages/core/src/presets/composes.js';

/** Ways to have fewer bits, or fewer numbers, in memory. With the names that the guide gives them. */
export const ROWS = {
  int8: "`weights: 'int8'`",
  int4: "`weights: 'int4'`",
  nf4: "`weights: 'nf4'`",
  dynamic: "`activations: 'dynamic'`",
  static: "`activations: 'static'`",
  smoothQuant: "`algorithm: 'smoothQuant'`",
  awq: "`algorithm: 'awq'`",
  gptq: "`algorithm: 'gptq'`",
  qat: '`prepareQat`',
  qlora: 'QLoRA',
  int8Products: "`mixedPrecision: 'int8'`",
  fp8Products: "`mixedPrecision: 'fp8'`",
  delayed: "fp8 with `scaling: 'delayed'`",
  state8: '`stateBits: 8`',
  state4: '`stateBits: 4`',
  crossEntropy: '`linearCrossEntropy`',
} as const satisfies Readonly<Record<string, string>>;
export type Row = keyof typeof ROWS;

export const COLUMNS = {
  plain: 'one process',
  compile: '`compile`',
  ddp: '`ddp`',
  fsdp: '`fsdp`',
  tensor: '`mesh.tensor`',
  pipeline: '`mesh.pipeline`',
  accumulation: '`gradientAccumulationSteps`',
  clipping: '`gradientClipping`',
  resumed: '`saveState`, `loadState`',
  offload: '`fsdp.offload`',
  loaded: '`saveModel`, `loadModel`',
} as const satisfies Readonly<Record<string, string>>;
export type Column = keyof typeof COLUMNS;

export interface Cell {
  readonly row: Row;
  readonly column: Column;
}

/** A row and a column that do not go together. */
export interface CellRefusal {
  readonly code: string;
  /** As a sentence. */
  readonly reason: string;
}

const PACKED: readonly Row[] = ['int8', 'int4', 'nf4', 'dynamic', 'static', 'smoothQuant', 'awq', 'gptq'];

/** Whether weights of the row are packed and frozen, and other layers are trained. */
export const isPacked = (row: Row) => PACKED.includes(row);

/** The names of a row and a column in the table of all features. */
function featuresOf({ row, column }: Cell): ReadonlySet<Feature> {
  const isQuantized = isPacked(row) || row === 'qat' || row === 'qlora';
  const ofRow: Feature[] = isQuantized ? ['quantized'] : row.startsWith('state') ? ['stateBits'] : [];
  const ofColumn: Readonly<Record<Column, readonly Feature[]>> = {
    plain: [],
    compile: ['data', 'compile'],
    ddp: ['data'],
    fsdp: ['fsdp'],
    tensor: ['tensor'],
    pipeline: ['pipeline'],
    accumulation: ['data', 'accumulation'],
    clipping: ['data', 'clipping'],
    resumed: ['fsdp'],
    offload: ['fsdp', 'offload'],
    loaded: ['data'],
  };
  return new Set([...ofRow, ...ofColumn[column]]);
}

/** Refusals that belong to one row of this table, and to no feature of a run. */
const OWN: readonly (Cell & CellRefusal)[] = [
  {
    ...{ row: 'delayed', column: 'tensor', code: 'ACC_INVALID_OPTION' },
    reason: 'A history is that of whole tensors.',
  },
  {
    ...{ row: 'crossEntropy', column: 'pipeline', code: 'ACC_PIPELINE_WEIGHT' },
    reason: 'A pipelined loss has no weights: the product with the vocabulary is a layer of the model there.',
  },
];

/** Undefined if a row and a column go together. */
export function refusalOf(cell: Cell): CellRefusal | undefined {
  const features = featuresOf(cell);
  const own = OWN.find(({ row, column }) => row === cell.row && column === cell.column);
  return own ?? REFUSALS.find(({ of }) => of.every((feature) => features.has(feature)));
}

export const CELLS: readonly Cell[] = (Object.keys(ROWS) as Row[]).flatMap((row) =>
  (Object.keys(COLUMNS) as Column[]).map((column) => ({ row, column })),
);

export const nameOf = ({ row, column }: Cell): string => `${ROWS[row]} × ${COLUMNS[column]}`;

/** The lines of the guide: the cells of each row of the table, and the reasons. */
export function linesOfGuide(): string[] {
  const columns = Object.keys(COLUMNS) as Column[];
  const reasons = new Map<string, { readonly rows: Set<string>; readonly columns: Set<string> }>();
  const rows = (Object.keys(ROWS) as Row[]).map((row) => {
    const cells = columns.map((column) => {
      const refusal = refusalOf({ row, column });
      if (!refusal) return 'yes';
      const found = reasons.get(refusal.reason) ?? { rows: new Set(), columns: new Set() };
      found.rows.add(ROWS[row]);
      found.columns.add(COLUMNS[column]);
      reasons.set(refusal.reason, found);
      return `no: \`${refusal.code}\``;
    });
    return [ROWS[row], ...cells].join(' | ');
  });
  const list = [...reasons].map(
    ([text, { rows: of, columns: and }]) => `- ${[...of].join(', ')} and ${[...and].join(', ')}: ${text}`,
  );
  return [['', ...columns.map((column) => COLUMNS[column])].join(' | '), ...rows, ...list];
}
