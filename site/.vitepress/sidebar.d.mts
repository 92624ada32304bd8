interface Entry {
  readonly text: string;
  readonly link?: string;
  readonly items?: readonly Entry[];
}

export function sidebars(): Readonly<Record<string, readonly Entry[]>>;
