/** Extracts configurations from Kubernetes ConfigMaps, as printed by `kubectl get configmap -o yaml` or written in a manifest. */

import { isMap, isScalar, LineCounter, parseAllDocuments, type Document, type Pair, type Scalar } from 'yaml';
import type { ConfigFile } from '../../yaml/yaml-text';

export interface UnwrappedFile {
  /** The manifest. */
  readonly file: string;
  /** The key in `data`. */
  readonly key: string;
  /** Has the lines and columns of the manifest. */
  readonly document: ConfigFile;
}

const CONFIG_MAP = /^kind:\s*["']?ConfigMap\b/m;
const YAML_NAME = /\.ya?ml$/i;
const DOMAIN_LINE = /^\s*domain\s*:/m;

/** The YAML entries of `data` of every ConfigMap in the text; empty without a ConfigMap, or if the text is invalid YAML. */
export function unwrapConfigMap({ name, text }: ConfigFile): UnwrappedFile[] {
  if (!CONFIG_MAP.test(text)) return [];
  const lines = new LineCounter();
  const documents = [...parseAllDocuments(text, { schema: 'failsafe', prettyErrors: false, lineCounter: lines })];
  if (documents.some(({ errors }) => errors.length > 0)) return [];
  return documents
    .flatMap((document) => entriesOf(document))
    .map(({ key, value }) => ({
      file: name,
      key,
      document: { name: `${name} (data.${key})`, text: inPlace(value, { text, lines }) },
    }));
}

interface DataEntry {
  readonly key: string;
  readonly value: Scalar<string>;
}

function entriesOf(document: Document): DataEntry[] {
  const data = document.get('kind') === 'ConfigMap' ? document.get('data') : undefined;
  if (!isMap(data)) return [];
  return data.items.flatMap(({ key, value }: Pair) => {
    if (!isScalar(key) || !isScalar(value) || typeof value.value !== 'string') return [];
    const isConfig = YAML_NAME.test(String(key.value)) || DOMAIN_LINE.test(value.value);
    return isConfig ? [{ key: String(key.value), value: value as Scalar<string> }] : [];
  });
}

/**
 * The text of an entry, after as many empty lines as precede it in the manifest. A literal block keeps its indentation, and so its
 * columns, because YAML may be indented as a whole. Other texts count from their first line.
 */
function inPlace(value: Scalar<string>, { text, lines }: { readonly text: string; readonly lines: LineCounter }): string {
  const [begin = 0, end = 0] = value.range ?? [];
  if (value.type !== 'BLOCK_LITERAL') return '\n'.repeat(lines.linePos(begin).line - 1) + value.value;
  const firstLine = text.indexOf('\n', begin) + 1;
  return '\n'.repeat(lines.linePos(begin).line) + text.slice(firstLine, end);
}
