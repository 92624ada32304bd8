import { defineConfig } from 'tsup';
import { base } from '../../tsup.base.js';

const FORMATS = ['arrow', 'csv', 'image-folder', 'jsonl', 'parquet', 'text', 'tfrecord', 'webdataset'];

export default defineConfig({ ...base, entry: [...base.entry, ...FORMATS.map((name) => `src/${name}.ts`)] });
