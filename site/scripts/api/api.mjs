import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Application, Converter } from 'typedoc';
import { MarkdownPageEvent } from 'typedoc-plugin-markdown';
import { documentedPackages, packageName, pagesFolder, read, root, site } from '../repository.mjs';
import { divideByUse, foldAccessors, withoutOptimizerMethods, withoutSource } from './model.mjs';
import { pageText } from './text.mjs';
import { apiLink } from './uses.mjs';

/** Writes pages on the public names of each package, from the types of the sources. */
export async function writeApi() {
  const app = await Application.bootstrapWithPlugins({
    plugin: ['typedoc-plugin-markdown'],
    entryPoints: documentedPackages.map((folder) => join(root, 'packages', folder, 'src', 'index.ts')),
    tsconfig: join(site, 'tsconfig.api.json'),
    basePath: join(root, 'packages'),
    out: join(pagesFolder, 'api'),
    readme: 'none',
    excludePrivate: true,
    excludeInternal: true,
    // Members that classes have from tfjs are described there.
    excludeExternals: true,
    logLevel: 'Error',
    skipErrorChecking: true,
    router: 'module',
    entryFileName: 'index',
    hideBreadcrumbs: true,
    hidePageHeader: true,
    parametersFormat: 'table',
    interfacePropertiesFormat: 'table',
    classPropertiesFormat: 'table',
    typeDeclarationFormat: 'table',
    propertyMembersFormat: 'table',
    tableColumnSettings: { hideSources: true, hideModifiers: true, hideInherited: true, hideOverrides: true },
    useCodeBlocks: true,
    sort: ['kind', 'alphabetical'],
    // Functions and classes first, which programs call.
    kindSortOrder: ['Module', 'Function', 'Class', 'Variable', 'Reference', 'Interface', 'TypeAlias'],
    groupOrder: ['Functions', 'Classes', 'Variables', 'References', 'Interfaces', 'Type Aliases'],
  });
  app.converter.on(Converter.EVENT_RESOLVE_BEGIN, ({ project }) => {
    foldAccessors(project);
    divideByUse(project);
    withoutOptimizerMethods(project);
    withoutSource(project);
  });
  app.renderer.on(MarkdownPageEvent.END, (page) => {
    page.contents = pageText(page, (reflection) => app.renderer.router.getFullUrl(reflection));
  });
  const project = await app.convert();
  if (!project) throw new Error('The types of the packages could not be read.');
  await app.generateOutputs(project);
  writeFileSync(join(pagesFolder, 'api', 'index.md'), indexOfPackages());
  if (app.logger.hasErrors()) throw new Error('The pages of the API could not be written.');
}

function indexOfPackages() {
  const items = documentedPackages.map((folder) => {
    const { description } = JSON.parse(read(`packages/${folder}/package.json`));
    return `| [${packageName(folder)}](.${apiLink(folder).slice('/api'.length)}) | ${description} |`;
  });
  const uses = readFileSync(join(pagesFolder, 'api', 'core', 'index.md'), 'utf8');
  const ofCore = uses.slice(uses.indexOf('| page |')).replaceAll('](./', '](./core/');
  return [
    '---',
    'pageClass: api',
    '---',
    '',
    '# API: every public name',
    '',
    'Programs import nearly everything from [@acc/core](./core/index.md). A program begins with',
    '[create](./core/accelerator.md#create) and [prepare](./core/accelerator.md#prepare).',
    '',
    '## By use',
    '',
    ofCore,
    '## By package',
    '',
    '| package | holds |',
    '| --- | --- |',
    ...items,
    '',
  ].join('\n');
}
