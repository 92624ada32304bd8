import { AccError } from '@acc/contract';

/** The forms of a service's name in code and on npm. */
export interface Names {
  /** `my-service` */
  readonly kebab: string;
  /** `myService` */
  readonly camel: string;
  /** `MyService` */
  readonly pascal: string;
  /** `acc-tracker-my-service` */
  readonly packageName: string;
}

const PREFIX = 'acc-tracker-';

/**
 * @param name The name of the service, with or without `acc-tracker-`.
 * @throws AccError `ACC_BAD_OPTION`.
 */
export function namesOf(name: string): Names {
  const kebab = name.startsWith(PREFIX) ? name.slice(PREFIX.length) : name;
  if (!/^[a-z][a-z0-9]*(-[a-z0-9]+)*$/.test(kebab)) {
    throw new AccError('ACC_BAD_OPTION', `'${name}' is not a valid package name.`, {
      help: 'Use lower-case letters, digits and single hyphens: npm create acc-tracker my-service',
    });
  }
  const pascal = kebab.replace(/(?:^|-)([a-z0-9])/g, (_match, letter: string) => letter.toUpperCase());
  const camel = pascal[0]!.toLowerCase() + pascal.slice(1);
  return { kebab, camel, pascal, packageName: PREFIX + kebab };
}
