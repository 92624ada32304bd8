import { defineConfig } from 'tsup';
import { base } from '../../tsup.base.js';

export default defineConfig({
  ...base,
  entry: [...base.entry, 'src/formats/*/index.ts', 'src/formats/image-folder/open-images.ts'],
});
