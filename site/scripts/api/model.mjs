import { DeclarationReflection, ReflectionFlag, ReferenceReflection, ReflectionKind } from 'typedoc';
import { fileOf, usesOf } from './uses.mjs';

/** The packages of a project are its modules, by folder. */
const packagesOf = (project) => project.children ?? [];

/** Names packages after their folders, and moves the names of large ones into a module for each use. */
export function divideByUse(project) {
  for (const module of packagesOf(project)) {
    module.name = module.name.replace(/\/src$/, '');
    const children = [...module.children];
    const names = children.map((child) => ({
      name: child.name,
      source: sourceOf(child),
      methods: (child.children ?? []).filter(({ kind }) => kind === ReflectionKind.Method).length,
    }));
    for (const [title, own] of usesOf(module.name, names) ?? []) {
      const use = new DeclarationReflection(fileOf(title), ReflectionKind.Module, module);
      project.registerReflection(use, undefined, undefined);
      // A name may be a value and a type.
      for (const child of children.filter(({ name }) => own.includes(name))) move(child, use);
      module.addChild(use);
    }
  }
}

function move(child, to) {
  child.parent.removeChild(child);
  child.parent = to;
  to.addChild(child);
}

function sourceOf(reflection) {
  const target =
    reflection instanceof ReferenceReflection ? reflection.getTargetReflectionDeep() : reflection;
  return target.sources?.[0]?.fileName ?? '';
}

/** Accessors that are only read become properties, which have a table. */
export function foldAccessors(project) {
  for (const accessor of project.getReflectionsByKind(ReflectionKind.Accessor)) {
    if (accessor.setSignature) continue;
    accessor.kind = ReflectionKind.Property;
    accessor.type = accessor.getSignature.type;
    accessor.comment = accessor.getSignature.comment;
    accessor.setFlag(ReflectionFlag.Readonly, true);
    accessor.getSignature = undefined;
  }
}

/** Pages do not say where a name is defined. */
export function withoutSource(project) {
  for (const reflection of Object.values(project.reflections)) delete reflection.sources;
}

/** Optimizers have the methods of tfjs's optimizers, which programs do not call. */
export function withoutOptimizerMethods(project) {
  for (const method of project.getReflectionsByKind(ReflectionKind.Method)) {
    const { name } = method.inheritedFrom ?? method.overwrites ?? {};
    if (/^(Slot)?Optimizer\./.test(name)) project.removeReflection(method);
  }
}
