/** Reads the file that says how lines of a log become requests, and reports every mistake with its place. */

import { openDocument } from '../../../../configuration/yaml/config-document';
import { isNull, type ConfigNode } from '../../../../configuration/yaml/config-node';
import type { ConfigFile } from '../../../../configuration/yaml/yaml-text';
import type { FileProblems, ProblemList } from '../../../../configuration/problems/problem-list';
import { toByteString } from '../../../../domain/descriptor/byte-string';
import { asError } from '../../../../lib/errors';
import { didYouMean } from '../../../../lib/text/did-you-mean';
import { show } from '../../../../lib/quote';
import { US_PER_MS, US_PER_S } from '../../../../lib/time-units';
import { COMBINED_FIELDS } from '../formats/access-log';
import { LOG_FORMATS, type LogFormat } from '../formats/log-formats';
import type { DurationSource, EntrySource, LogMapping } from './log-mapping';

const MAPPING_FIELDS = ['format', 'time', 'duration', 'domain', 'descriptors', 'hits'];
const ENTRY_FIELDS = ['key', 'value', 'field', 'match'];
const DOMAIN_FIELDS = ['value', 'field'];
const DURATION_FIELDS = ['field', 'unit'];

const UNITS_US: ReadonlyMap<string, number> = new Map([
  ['s', US_PER_S],
  ['ms', US_PER_MS],
  ['us', 1],
]);

/** Undefined: the file is wrong, and the list says where. */
export function readMapping(file: ConfigFile, list: ProblemList): LogMapping | undefined {
  const { root, problems } = openDocument(file, { list });
  if (root === undefined) return undefined;
  const before = list.found().kept.length + list.found().omitted;
  const mapping = new MappingReader(problems).read(root);
  return list.found().kept.length + list.found().omitted > before ? undefined : mapping;
}

type Fields = ReadonlyMap<string, ConfigNode>;

class MappingReader {
  private format: LogFormat | undefined;

  constructor(private readonly problems: FileProblems) {}

  read(root: ConfigNode): LogMapping {
    const fields = this.map(root, '', MAPPING_FIELDS);
    this.format = this.formatOf(fields.get('format'));
    const domain = fields.get('domain');
    if (domain === undefined) this.report(root, 'domain', 'is missing; name the domain of the requests');
    const descriptors = this.list(fields.get('descriptors'), 'descriptors').map((node, index) =>
      this.descriptor(node, `descriptors[${index}]`),
    );
    if (descriptors.length === 0 && this.format !== 'decisions')
      this.report(root, 'descriptors', 'is missing; it lists the descriptors, each as a list of entries');
    return {
      format: this.format,
      time: this.field(fields.get('time'), 'time'),
      duration: this.duration(fields.get('duration')),
      domain: domain === undefined ? {} : this.domain(domain),
      descriptors,
      hits: this.field(fields.get('hits'), 'hits'),
    };
  }

  private formatOf(node: ConfigNode | undefined): LogFormat | undefined {
    if (node === undefined) return undefined;
    const text = this.text(node, 'format');
    const format = LOG_FORMATS.find((each) => each === text);
    if (format === undefined) this.report(node, 'format', `${show(text)} is not a format; use ${LOG_FORMATS.join(', ')}`);
    return format;
  }

  private domain(node: ConfigNode): Pick<EntrySource, 'value' | 'field'> {
    if (node.kind === 'scalar') return { value: toByteString(node.text) };
    const fields = this.map(node, 'domain', DOMAIN_FIELDS);
    return this.source(node, 'domain', fields);
  }

  private duration(node: ConfigNode | undefined): DurationSource | undefined {
    if (node === undefined) return undefined;
    if (node.kind === 'scalar') return { field: this.field(node, 'duration') ?? '', unitUs: US_PER_MS };
    const fields = this.map(node, 'duration', DURATION_FIELDS);
    const field = this.field(fields.get('field'), 'duration.field');
    if (field === undefined) this.report(node, 'duration.field', 'is missing; name the field');
    const unit = fields.get('unit');
    const word = unit === undefined ? 'ms' : this.text(unit, 'duration.unit');
    const unitUs = UNITS_US.get(word);
    if (unitUs === undefined)
      this.report(unit ?? node, 'duration.unit', `${show(word)} is not a unit; use ${[...UNITS_US.keys()].join(', ')}`);
    return { field: field ?? '', unitUs: unitUs ?? 1 };
  }

  private descriptor(node: ConfigNode, path: string): EntrySource[] {
    const entries = this.list(node, path).map((each, index) => this.entry(each, `${path}[${index}]`));
    if (node.kind === 'list' && entries.length === 0)
      this.report(node, path, 'is empty; it lists entries such as {key: path, field: path}');
    return entries;
  }

  private entry(node: ConfigNode, path: string): EntrySource {
    const fields = this.map(node, path, ENTRY_FIELDS);
    const key = fields.get('key');
    if (key === undefined) this.report(node, `${path}.key`, 'is missing; name the key of the entry');
    const source = { key: key === undefined ? '' : toByteString(this.text(key, `${path}.key`)), ...this.source(node, path, fields) };
    const match = fields.get('match');
    if (match === undefined) return source;
    if (source.field === undefined) this.report(match, `${path}.match`, 'needs a field, whose value it takes apart');
    const pattern = this.pattern(match, `${path}.match`);
    return pattern === undefined ? source : { ...source, match: pattern };
  }

  private source(node: ConfigNode, path: string, fields: Fields): Pick<EntrySource, 'value' | 'field'> {
    const [value, field] = [fields.get('value'), fields.get('field')];
    if (value !== undefined && field !== undefined)
      this.report(value, `${path}.value`, 'cannot be given together with field; leave out one of them');
    if (value !== undefined) return { value: toByteString(this.text(value, `${path}.value`)) };
    const name = this.field(field, `${path}.field`);
    if (field === undefined) this.report(node, `${path}.field`, 'is missing; name a field of the log, or give a value');
    return { field: name ?? '' };
  }

  /** The name of a field of the log. Access logs have fields of known names. */
  private field(node: ConfigNode | undefined, path: string): string | undefined {
    if (node === undefined) return undefined;
    const name = this.text(node, path);
    const known = this.format === 'combined' ? COMBINED_FIELDS : undefined;
    if (known !== undefined && !known.includes(name)) this.reportUnknown(node, { path, name, known });
    return name;
  }

  private pattern(node: ConfigNode, path: string): RegExp | undefined {
    try {
      return new RegExp(toByteString(this.text(node, path)));
    } catch (error) {
      this.report(node, path, `is not a regular expression: ${asError(error).message}`);
      return undefined;
    }
  }

  private map(node: ConfigNode, path: string, known: readonly string[]): Fields {
    if (node.kind !== 'map') {
      this.report(node, path, `must be a map of ${known.join(', ')}`);
      return new Map();
    }
    for (const [name, { keyOffset }] of node.fields) {
      if (known.includes(name)) continue;
      const meant = didYouMean(name, known);
      const advice = meant === undefined ? `use ${known.join(', ')}` : `did you mean ${meant}?`;
      this.report({ offset: keyOffset }, path === '' ? name : `${path}.${name}`, `is not a field here; ${advice}`);
    }
    return new Map([...node.fields].filter(([, { value }]) => !isNull(value)).map(([name, { value }]) => [name, value]));
  }

  private list(node: ConfigNode | undefined, path: string): readonly ConfigNode[] {
    if (node === undefined) return [];
    if (node.kind === 'list') return [...node.items];
    this.report(node, path, 'must be a list');
    return [];
  }

  private text(node: ConfigNode, path: string): string {
    if (node.kind === 'scalar') return node.text;
    this.report(node, path, 'must be a text');
    return '';
  }

  private reportUnknown(
    node: ConfigNode,
    { path, name, known }: { readonly path: string; readonly name: string; readonly known: readonly string[] },
  ): void {
    const meant = didYouMean(name, known);
    this.report(
      node,
      path,
      `${show(name)} is not a field of this format; ${meant === undefined ? `use ${known.join(', ')}` : `did you mean ${meant}?`}`,
    );
  }

  private report({ offset }: Pick<ConfigNode, 'offset'>, path: string, message: string): void {
    this.problems.report({ offset, path, message });
  }
}
