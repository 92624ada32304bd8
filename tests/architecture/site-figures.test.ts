import { posix } from 'node:path';
import { expect, it } from 'vitest';
import { readText } from './reading/repository.js';

/** Pages of the site that state what was measured. */
const PAGES = ['index.md', 'performance.md', 'concepts/zero.md'];

interface Section {
  readonly page: string;
  readonly text: string;
  /** The reports in `bench/results` that the section links. */
  readonly reports: readonly string[];
}

const sections = PAGES.flatMap((page): Section[] =>
  readText(`site/docs/${page}`)
    .split(/^## /m)
    .map((text) => ({ page, text, reports: reportsIn(page, text) }))
    .filter(({ reports }) => reports.length > 0),
);

function reportsIn(page: string, text: string): string[] {
  return Array.from(text.matchAll(/\]\(([^()]*\bresults\/[\w-]+\.md)\)/g), ([, link]) =>
    readText(posix.join('site/docs', posix.dirname(page), link!)),
  );
}

const isRow = (line: string) => line.startsWith('|');

/** Figures with decimals, thousands or a percent sign. Others are sizes of models. */
const figuresIn = (text: string): string[] => text.match(/\d+(?:,\d{3})+|\d+\.\d+|\d+ %/g) ?? [];

it('rows of figures are rows of the linked reports', () => {
  const rows = sections.flatMap(({ text, reports }) =>
    text
      .split('\n')
      .filter(isRow)
      .map((row) => ({ row, figures: figuresIn(row.split('|').slice(2).join('|')), reports })),
  );
  const measured = rows.filter(({ row, figures }) => figures.length > 1 && !row.includes('GB'));
  const isThere = ({ figures, reports }: (typeof rows)[number]) =>
    reports.some((report) =>
      report.split('\n').some((line) => {
        const cells = figuresIn(line);
        return figures.every((figure) => cells.includes(figure));
      }),
    );
  expect(measured.filter((row) => !isThere(row)).map(({ row }) => row)).toEqual([]);
  expect(measured.length).toBeGreaterThan(10);
});

it('figures in sentences are in the linked reports', () => {
  const missing = sections.flatMap(({ page, text, reports }) => {
    const sentences = text.split('\n').filter((line) => !isRow(line));
    const figures = sentences.join('\n').match(/\b\d\.\d\d\b/g) ?? [];
    const unknown = figures.filter((figure) => !reports.some((report) => report.includes(figure)));
    return unknown.map((figure) => `${page}: ${figure}`);
  });
  expect(missing).toEqual([]);
});
