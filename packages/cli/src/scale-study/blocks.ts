import { escape } from '@acc/records';

/** A part of a report. */
export type Block =
  | { readonly kind: 'heading' | 'text'; readonly text: string }
  | { readonly kind: 'picture'; readonly file: string; readonly text: string }
  | {
      readonly kind: 'table';
      readonly header: readonly string[];
      readonly rows: readonly (readonly string[])[];
    };

/** The report as Markdown, with its pictures beside it. */
export function markdownOf(title: string, blocks: readonly Block[]): string {
  return `${[`# ${asMarkdown(title)}`, ...blocks.map(blockAsMarkdown)].join('\n\n')}\n`;
}

function blockAsMarkdown(block: Block): string {
  switch (block.kind) {
    case 'heading':
      return `## ${asMarkdown(block.text)}`;
    case 'picture':
      return `![${asMarkdown(block.text)}](${block.file})`;
    case 'table': {
      const lines = [block.header, block.header.map(() => '---'), ...block.rows];
      return lines.map((cells) => `| ${cells.map(asMarkdown).join(' | ')} |`).join('\n');
    }
    case 'text':
      return asMarkdown(block.text);
  }
}

/** The text as it stands: names of files and arguments may have signs of Markdown and HTML. */
const asMarkdown = (text: string): string =>
  text.replace(/[\\`*_<>[\]|&]/g, String.raw`\$&`).replace(/\s+/g, ' ');

const STYLE = `body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; color-scheme: light dark; }
table { border-collapse: collapse; display: block; overflow-x: auto; }
th, td { border-bottom: 1px solid #8886; padding: 0.25rem 0.75rem; text-align: left; }
svg { max-width: 100%; height: auto; }`;

/** The report as one HTML file, with its pictures in it. */
export function htmlOf(
  title: string,
  blocks: readonly Block[],
  pictures: Readonly<Record<string, string>>,
): string {
  const body = blocks.map((block) => blockAsHtml(block, pictures)).join('\n');
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>${escape(title)}</title>
<style>${STYLE}</style>
</head>
<body>
<h1>${escape(title)}</h1>
${body}
</body>
</html>
`;
}

function blockAsHtml(block: Block, pictures: Readonly<Record<string, string>>): string {
  switch (block.kind) {
    case 'heading':
      return `<h2>${escape(block.text)}</h2>`;
    case 'picture':
      return `<figure>${pictures[block.file]!}</figure>`;
    case 'table': {
      const row = (cells: readonly string[], tag: string) =>
        `<tr>${cells.map((cell) => `<${tag}>${escape(cell)}</${tag}>`).join('')}</tr>`;
      return `<table>\n${row(block.header, 'th')}\n${block.rows.map((cells) => row(cells, 'td')).join('\n')}\n</table>`;
    }
    case 'text':
      return `<p>${escape(block.text)}</p>`;
  }
}
