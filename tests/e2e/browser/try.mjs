import { chromium } from 'playwright-core';
import { build, preview } from 'vite';
import { mkdtempSync } from 'node:fs';
const root = new URL('page/', import.meta.url).pathname;
const t=Date.now();
await build({ root, logLevel: 'warn', build: { outDir: '/tmp/br/site', emptyOutDir: true, target: 'esnext', chunkSizeWarningLimit: 9999 } });
console.log('vite', Date.now()-t);
const server = await preview({ root, logLevel: 'silent', build: { outDir: '/tmp/br/site' }, preview: { port: 0, host: '127.0.0.1' } });
const url = server.resolvedUrls.local[0]; console.log(url);
const context = await chromium.launchPersistentContext(mkdtempSync('/tmp/br/prof-'), { executablePath: '/usr/bin/chromium', headless: false, args: ['--headless=new','--no-sandbox','--disable-quic','--no-first-run','--disable-background-networking','--disable-component-update','--disable-sync','--use-angle=swiftshader','--enable-unsafe-swiftshader','--enable-unsafe-webgpu','--use-webgpu-adapter=swiftshader','--enable-features=Vulkan'] });
console.log('launched', Date.now()-t);
const page = await context.newPage();
page.on('console', m => console.log('console:', m.type(), m.text())); page.on('pageerror', e => console.log('pageerror', e.message));
await page.goto(url);
await page.waitForFunction(() => 'smoke' in globalThis);
for (const b of ['cpu','wasm','webgl','webgpu']) { try { console.log(b, JSON.stringify(await page.evaluate((n) => globalThis.smoke(n), b))); } catch (e) { console.log(b, 'ERR', e.message.slice(0,1500)); } }
await context.close(); await server.close();
