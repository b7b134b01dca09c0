/** Converts the YAML parser's tree into config nodes: resolves aliases and merge keys, rejects duplicate keys and tags. */

import { isAlias, isMap, isScalar, isSeq, type Alias, type Node, type Pair, type Scalar, type YAMLMap } from 'yaml';
import { isNull, type ConfigNode, type MapField, type ScalarNode } from './config-node';
import type { FileProblems } from '../problems/problem-list';
import { joinPath, show } from '../../lib/quote';

/** Nodes that aliases may repeat in one file, so that a few lines cannot exhaust the memory. */
const ALIASED_NODES_MAX = 1_000_000;

const MERGE_KEY = '<<';

/** The maps of a descriptor in which the reference combines merged keys with existing ones. */
const MIXED_KEYS: ReadonlySet<string> = new Set(['rate_limit', 'metadata']);

/** A `<<` key. */
interface Merge {
  readonly keyOffset: number;
  readonly fields: ReadonlyMap<string, MapField>;
}

interface MergeInput {
  readonly merge: Merge;
  /** Path of the map that contains the `<<`. */
  readonly path: string;
}

interface TwiceInput {
  readonly first: Pick<MapField, 'keyOffset'>;
  readonly second: Pick<MapField, 'keyOffset'>;
  readonly path: string;
}

export class YamlConverter {
  /** Nodes by anchor, shared by all of its aliases; converted nodes never change. */
  private readonly anchors = new Map<string, ConfigNode>();
  private aliasedNodes = 0;
  /** False once a node was left out. */
  private complete = true;

  /** `text`: the source of the nodes. */
  constructor(
    private readonly text: string,
    private readonly problems: FileProblems,
  ) {}

  /**
   * The whole document; an empty one is a null node. Undefined if a part is invalid: that is reported, and reading on
   * would only report its absence again.
   */
  convertRoot(root: Node | null): ConfigNode | undefined {
    const converted = root === null ? nullAt(0) : this.convert(root, '');
    return this.complete ? converted : undefined;
  }

  private convert(node: Node, path: string): ConfigNode {
    if (isAlias(node)) return this.resolveAlias(node, path);
    const converted = node.tag === undefined ? this.convertContent(node, path) : this.leaveOutTagged(node, path);
    // Registered only now, so that an alias within its own anchor finds nothing and no node contains itself.
    if (node.anchor !== undefined) this.anchors.set(node.anchor, converted);
    return converted;
  }

  private convertContent(node: Node, path: string): ConfigNode {
    const offset = offsetOf(node);
    if (isScalar(node)) return this.convertScalar(node, path);
    if (isMap<Node, Node | null>(node)) return this.convertMap(node, path);
    if (!isSeq<Node>(node)) return nullAt(offset);
    const items = node.items.map((item, index) => this.convert(item, `${path}[${index}]`));
    return { kind: 'list', length: items.length, items, offset, size: 1 + totalSize(items) };
  }

  private convertScalar(node: Scalar, path: string): ConfigNode {
    const offset = offsetOf(node);
    const text = this.textOf(node);
    // An escape such as "\ud800". UTF-8 cannot encode it, so no caller could ever send it.
    if (/\p{Cs}/u.test(text)) return this.leaveOut(offset, path, 'holds half of a surrogate pair; write the whole character');
    return { kind: 'scalar', text, plain: node.type === 'PLAIN', offset, size: 1 };
  }

  /** The parser adds a line break to a block whose last line is the last of the file and has none; this removes it. */
  private textOf({ value, type, range }: Scalar): string {
    if (typeof value !== 'string') return '';
    const isBlock = type === 'BLOCK_LITERAL' || type === 'BLOCK_FOLDED';
    const isCutOff = isBlock && range?.[1] === this.text.length && this.text.slice(this.text.lastIndexOf('\n')).trim() !== '';
    return isCutOff && value.endsWith('\n') ? value.slice(0, -1) : value;
  }

  private convertMap(node: YAMLMap<Node, Node | null>, path: string): ConfigNode {
    const fields = new Map<string, MapField>();
    /** The fields from `<<`, once it is read. */
    let merge: Merge | undefined;
    for (const pair of node.items) {
      const keyOffset = offsetOf(pair.key);
      const key = this.readKey(pair, path);
      if (key === undefined) continue;
      const field = { keyOffset, value: this.convertValue(pair, joinPath(path, key.text)) };
      if (!key.plain || key.text !== MERGE_KEY) {
        this.addField(fields, { key: key.text, field, path });
      } else if (merge === undefined) {
        merge = { keyOffset, fields: this.mergedFields(field.value, path) };
        this.reportOverridden(fields, { merge, path });
      } else {
        this.reportTwice(MERGE_KEY, { first: merge, second: field, path });
      }
    }
    if (merge !== undefined) this.takeOver(fields, { merge, path });
    const values = Array.from(fields.values(), (field) => field.value);
    return { kind: 'map', fields, offset: offsetOf(node), size: 1 + totalSize(values) };
  }

  private readKey({ key }: Pair<Node, Node | null>, path: string): ScalarNode | undefined {
    const converted = this.convert(key, path);
    if (converted.kind === 'scalar' && !isNull(converted)) return converted;
    this.problems.report({ offset: offsetOf(key), path, message: 'a key must be text; write it as key: value' });
    return undefined;
  }

  private convertValue({ key, value }: Pair<Node, Node | null>, path: string): ConfigNode {
    return value === null ? nullAt(offsetOf(key)) : this.convert(value, path);
  }

  private addField(fields: Map<string, MapField>, { key, field, path }: { key: string; field: MapField; path: string }): void {
    const first = fields.get(key);
    if (first === undefined) {
      fields.set(key, field);
      return;
    }
    this.reportTwice(key, { first, second: field, path });
  }

  private reportTwice(key: string, { first, second, path }: TwiceInput): void {
    const keyPath = joinPath(path, key);
    const [one, other] = [first, second].map(({ keyOffset }) =>
      this.problems.placeOf({ offset: keyOffset, path: keyPath, problems: this.problems }),
    );
    this.problems.report({ offset: second.keyOffset, path: keyPath, message: `given twice: ${one} and ${other}; keep one` });
  }

  /** `<<: *anchor` or `<<: [*first, *second]`: for each key the first map that has it wins. */
  private mergedFields(merged: ConfigNode, path: string): ReadonlyMap<string, MapField> {
    const fields = new Map<string, MapField>();
    for (const source of merged.kind === 'list' ? merged.items : [merged]) {
      if (source.kind !== 'map') {
        this.leaveOut(source.offset, joinPath(path, MERGE_KEY), 'must be a map or a list of maps');
        continue;
      }
      for (const [key, field] of source.fields) {
        const first = fields.get(key);
        if (first === undefined) fields.set(key, field);
        else this.reportMixed(key, { field: first, under: field, path });
      }
    }
    return fields;
  }

  /** Reports keys before a `<<` that also has them: in the reference the last one wins, in YAML the map's own. */
  private reportOverridden(own: ReadonlyMap<string, MapField>, { merge, path }: MergeInput): void {
    for (const [key, { value }] of merge.fields) {
      const field = own.get(key);
      if (field === undefined || isSameScalar(field.value, value)) continue;
      const message = `is also set by the << below it, and YAML parsers differ in which of the two wins; put the << first`;
      this.problems.report({ offset: field.keyOffset, path: joinPath(path, key), message });
    }
  }

  /** The map's own keys win. */
  private takeOver(fields: Map<string, MapField>, { merge, path }: MergeInput): void {
    for (const [key, field] of merge.fields) {
      const own = fields.get(key);
      if (own === undefined) fields.set(key, field);
      else if (own.keyOffset > merge.keyOffset) this.reportMixed(key, { field: own, under: field, path });
    }
  }

  /** For two maps under one key the reference combines both, while YAML takes one unchanged. */
  private reportMixed(
    key: string,
    { field, under, path }: { readonly field: MapField; readonly under: MapField; readonly path: string },
  ): void {
    if (!MIXED_KEYS.has(key) || field.value.kind !== 'map' || under.value.kind !== 'map') return;
    const { fields } = field.value;
    const missing = Array.from(under.value.fields.keys()).find((name) => !fields.has(name));
    if (missing === undefined) return;
    const message = `has no ${show(missing)}, which the map merged by << has: some YAML parsers combine the two, others do not; write it here too, or merge within`;
    this.problems.report({ offset: field.keyOffset, path: joinPath(path, key), message });
  }

  private resolveAlias(alias: Alias, path: string): ConfigNode {
    const offset = offsetOf(alias);
    const target = this.anchors.get(alias.source);
    if (target === undefined) {
      return this.leaveOut(offset, path, `*${alias.source} has no anchor &${alias.source} that ends before it`);
    }
    this.aliasedNodes += target.size;
    if (this.aliasedNodes <= ALIASED_NODES_MAX) return target;
    return this.leaveOut(offset, path, `aliases repeat over ${ALIASED_NODES_MAX} nodes up to here; write fewer`);
  }

  /** The parser resolves some tags, and would turn `!!binary` or `!!timestamp` into something other than text. */
  private leaveOutTagged({ tag, ...node }: Exclude<Node, Alias>, path: string): ConfigNode {
    return this.leaveOut(node.range?.[0] ?? 0, path, `has the tag ${tag}; tags have no meaning here, so remove it`);
  }

  private leaveOut(offset: number, path: string, message: string): ConfigNode {
    this.problems.report({ offset, path, message });
    this.complete = false;
    return nullAt(offset);
  }
}

function isSameScalar(a: ConfigNode, b: ConfigNode): boolean {
  return a.kind === 'scalar' && b.kind === 'scalar' && a.text === b.text && a.plain === b.plain;
}

function nullAt(offset: number): ConfigNode {
  return { kind: 'scalar', text: '', plain: true, offset, size: 1 };
}

function offsetOf(node: Node): number {
  return node.range?.[0] ?? 0;
}

function totalSize(nodes: readonly ConfigNode[]): number {
  return nodes.reduce((sum, { size }) => sum + size, 0);
}
