import { defineConfig } from 'tsup';
import { base } from '../../tsup.base.js';

const FORMATS = ['arrow', 'image-folder', 'jsonl', 'parquet', 'tfrecord'];

export default defineConfig({ ...base, entry: [...base.entry, ...FORMATS.map((name) => `src/${name}.ts`)] });
