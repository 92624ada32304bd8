import { defineConfig } from 'tsup';
import { base } from '../../tsup.base.js';

export default defineConfig({ ...base, entry: [...base.entry, 'src/placement.ts'] });
