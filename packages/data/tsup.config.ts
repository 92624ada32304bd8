import { defineConfig } from 'tsup';
import { base } from '../../tsup.base.js';

const FORMATS = ['image-folder', 'jsonl', 'tfrecord'];

export default defineConfig({ ...base, entry: [...base.entry, ...FORMATS.map((name) => `src/${name}.ts`)] });
