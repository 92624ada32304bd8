import { readFileSync } from 'node:fs';

/** The files of the page, by their address. */
export interface PageFile {
  readonly type: string;
  readonly body: string | Buffer;
}

const HTML = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>acc monitor</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="/style.css">
</head>
<body>
<div id="app"><p class="loading">Loading …</p></div>
<script type="module" src="/page.js"></script>
<noscript><p>This page needs JavaScript. acc diagnose prints the findings of a run.</p></noscript>
</body>
</html>
`;

/** The build writes the page beside the command. */
const built = (name: string): URL =>
  new URL(import.meta.url.replace(/^(.*)\/(?:src|dist)\/.*$/, `$1/dist/monitor/${name}`));

export function pageFiles(): Readonly<Record<string, PageFile>> {
  return {
    '/': { type: 'text/html; charset=utf-8', body: HTML },
    '/page.js': { type: 'text/javascript; charset=utf-8', body: readFileSync(built('page.js')) },
    '/style.css': { type: 'text/css; charset=utf-8', body: readFileSync(built('style.css')) },
  };
}
