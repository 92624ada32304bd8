import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Application } from 'typedoc';
import { documentedPackages, packageName, pagesFolder, read, root, site } from './repository.mjs';

/** Writes a page on the public names of each package, from the types of the sources. */
export async function writeApi() {
  const app = await Application.bootstrapWithPlugins({
    plugin: ['typedoc-plugin-markdown'],
    entryPoints: documentedPackages.map((folder) => join(root, 'packages', folder, 'src', 'index.ts')),
    tsconfig: join(site, 'tsconfig.api.json'),
    basePath: join(root, 'packages'),
    out: join(pagesFolder, 'api'),
    readme: 'none',
    disableSources: true,
    excludePrivate: true,
    excludeInternal: true,
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
  });
  const project = await app.convert();
  if (!project) throw new Error('The types of the packages could not be read.');
  for (const module of project.children ?? []) module.name = module.name.replace(/\/src$/, '');
  await app.generateOutputs(project);
  for (const folder of documentedPackages) nameAfterPackage(folder);
  writeFileSync(apiPage('index'), indexOfPackages());
  if (app.logger.hasErrors()) throw new Error('The pages of the API could not be written.');
}

const apiPage = (name) => join(pagesFolder, 'api', `${name}.md`);

/** TypeDoc's name of a page is its folder. */
function nameAfterPackage(folder) {
  const text = readFileSync(apiPage(folder), 'utf8');
  const about = `Its [README](../packages/${folder}.md) describes the package.`;
  writeFileSync(apiPage(folder), text.replace(/^# .*$/m, `# ${packageName(folder)}\n\n${about}`));
}

function indexOfPackages() {
  const items = documentedPackages.map((folder) => {
    const { description } = JSON.parse(read(`packages/${folder}/package.json`));
    return `| [${packageName(folder)}](./${folder}.md) | ${description} |`;
  });
  return [
    '# API from the types',
    'The public names of each package, with their types and docstrings, as they are in the sources.',
    'Programs import nearly everything from [@acc/core](./core.md).',
    '',
    '| package | holds |',
    '| --- | --- |',
    ...items,
    '',
  ].join('\n');
}
