import { isRecord } from '@acc/contract';
import { importClients } from './clients.js';

/** An element that has elements: text by name. */
export type XmlElement = Readonly<Record<string, unknown>>;

/** The elements of an answer of S3, by name; an empty record for what is no XML. */
export async function parseXml(text: string): Promise<XmlElement> {
  const { xml } = await importClients();
  const parser = new xml.XMLParser({
    // Without them, characters by their numbers stay as they are written.
    htmlEntities: true,
    // A full page of long keys has more than the default allows.
    processEntities: { enabled: true, maxExpandedLength: Infinity },
    ignoreAttributes: true,
    isArray: (name) => name === 'Contents',
    // Keys are texts, whatever they look like.
    parseTagValue: false,
    trimValues: false,
  });
  try {
    return parser.parse(text) as XmlElement;
  } catch {
    return {};
  }
}

/** The element of a name in another. An empty record where there is none. */
export function elementIn(parent: XmlElement, name: string): XmlElement {
  const element = parent[name];
  return isRecord(element) ? element : {};
}

/** The text of an element in another; undefined where there is none. */
export function textIn(parent: XmlElement, name: string): string | undefined {
  const text = parent[name];
  return typeof text === 'string' ? text : undefined;
}
