import type { TableShape } from './flatbuffer.js';

/** The tables of Arrow's metadata (Message.fbs and Schema.fbs of Arrow's format 1.5), by their fields. */
const KEY_VALUE: TableShape = ['string', 'string'];
const METADATA = { tables: () => KEY_VALUE };
const INT: TableShape = [4, 1];
const DICTIONARY_ENCODING: TableShape = [8, { table: () => INT }, 1, 2];

/** The types that have fields, by their codes. */
const TYPES: Readonly<Record<number, TableShape>> = {
  ...Object.fromEntries(Array.from({ length: 26 }, (_, i) => [i + 1, []])),
  2: INT,
  3: [2],
  7: [4, 4, 4],
  8: [2],
  9: [2, 4],
  10: [2, 'string'],
  11: [2],
  14: [2, { vector: 4 }],
  15: [4],
  16: [4],
  17: [1],
  18: [2],
};

const FIELD: TableShape = [
  'string',
  1,
  1,
  { union: () => TYPES },
  { table: () => DICTIONARY_ENCODING },
  { tables: () => FIELD },
  METADATA,
];

const SCHEMA: TableShape = [2, { tables: () => FIELD }, METADATA, { vector: 8 }];
const RECORD_BATCH: TableShape = [8, { vector: 16 }, { vector: 16 }, { table: () => [1, 1] }, { vector: 8 }];
const DICTIONARY_BATCH: TableShape = [8, { table: () => RECORD_BATCH }, 1];

/** An encapsulated message of Arrow IPC. */
export const MESSAGE: TableShape = [
  2,
  1,
  { union: () => ({ 1: SCHEMA, 2: DICTIONARY_BATCH, 3: RECORD_BATCH }) },
  8,
  METADATA,
];
