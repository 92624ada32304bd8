import { isRecord } from '@acc/contract';
import { importClients } from './clients.js';

/** An element that contains elements. Elements that contain text are strings. */
export type XmlElement = Readonly<Record<string, unknown>>;

/**
 * Parses an answer of S3. Returns its elements by name, or an empty record if the text is not XML.
 */
export async function parseXml(text: string): Promise<XmlElement> {
  const { xml } = await importClients();
  const parser = new xml.XMLParser({
    // Without this option numeric character references are not decoded.
    htmlEntities: true,
    // A full page of long keys exceeds the default limit.
    processEntities: { enabled: true, maxExpandedLength: Infinity },
    ignoreAttributes: true,
    isArray: (name) => name === 'Contents',
    // Keys stay strings even if they look like numbers.
    parseTagValue: false,
    trimValues: false,
  });
  try {
    return parser.parse(text) as XmlElement;
  } catch {
    return {};
  }
}

/** The child element of that name. An empty record if there is none. */
export function elementIn(parent: XmlElement, name: string): XmlElement {
  const element = parent[name];
  return isRecord(element) ? element : {};
}

/** The text of the child element of that name. Undefined if there is none. */
export function textIn(parent: XmlElement, name: string): string | undefined {
  const text = parent[name];
  return typeof text === 'string' ? text : undefined;
}
