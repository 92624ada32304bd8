// Builds the site into site/dist (`npm run site`), or serves it while it is written (`npm run
// site:dev`). SITE_BASE is the path under which it is served, with slashes around it.
import { watch } from 'node:fs';
import { join } from 'node:path';
import { build, createServer } from 'vitepress';
import { deadLinks } from './anchors.mjs';
import { writeApi } from './api/api.mjs';
import { linkApiPages, removePages, writePages } from './pages.mjs';
import { root, site } from './repository.mjs';

const isDev = process.argv.includes('--dev');

removePages();
await writeApi();
linkApiPages();
writePages();
if (isDev) await serve();
else await buildAll();

async function buildAll() {
  await build(site);
  const dead = deadLinks(join(site, 'dist'), process.env.SITE_BASE || '/');
  if (dead.length === 0) return;
  console.error(`These links lead nowhere:\n  ${dead.join('\n  ')}`);
  process.exitCode = 1;
}

async function serve() {
  const server = await createServer(site);
  await server.listen();
  server.printUrls();
  const again = () => {
    try {
      writePages();
    } catch (error) {
      console.error(error.message);
    }
  };
  for (const folder of ['site/docs', 'docs', 'packages', 'examples']) {
    watch(join(root, folder), { recursive: true }, (_, path) => path?.endsWith('.md') && again());
  }
}
