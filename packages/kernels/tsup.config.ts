import base from '../../tsup.base.js';
import { defineConfig } from 'tsup';

export default defineConfig({ ...base, entry: ['src/index.ts', 'src/register.ts'] });
