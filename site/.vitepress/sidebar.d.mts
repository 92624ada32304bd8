interface Entry {
  readonly text: string;
  readonly link?: string;
  readonly items?: readonly Entry[];
}

export function sidebar(): readonly Entry[];
