/** The types of the fields of `response_body`. */

import { joinPath } from '../../../lib/quote';
import { BODY_BYTES_MAX, BODY_DEPTH_MAX, contentBytesMax, toJsonParts, type BodyContent } from '../../../domain/rule/body/response-body';
import { isPlaceholderName } from '../../../domain/rule/body/placeholders';
import { isTemplateProblem, parseTemplate } from '../../../domain/rule/body/template';
import { isNull, type ConfigNode, type MapNode } from '../../yaml/config-node';
import type { FieldReader, FieldType, Mistake } from './field';
import { isDeeper, toObject } from './metadata';
import { kindOf, readText, text, textLike } from './scalar-types';

const UNKNOWN: Omit<Mistake, 'write'> = {
  says: 'has the unknown placeholder "{limt}"; did you mean {limit}? use {limit_name}, {rule}, {detail}, {limit}, {unit}, {window_s}, {most_at_once}, {remaining}, {hits}, {retry_after_s}, {retry_after_ms}, {retry_at_s}, {never_fits}, {violated_policies}, {entry.KEY}, or write {{ and }} for braces',
  unseen: 'a schema cannot read placeholders',
};

const TOO_LONG = `may become longer than ${BODY_BYTES_MAX} bytes when it is filled in; shorten it, or use fewer placeholders`;

/** A text to fill in. */
export function bodyText(): FieldType<BodyContent> {
  return {
    accepts: 'text with placeholders',
    schema: text().schema,
    mistakes: [
      ...text().mistakes,
      { write: '"{limt} a minute"', ...UNKNOWN },
      { write: '"a { b"', says: 'has a single {; write {{ to show one', unseen: UNKNOWN.unseen ?? '' },
    ],
    read(node, at, name) {
      const written = readText(node, at, name);
      if (written === undefined) return undefined;
      const template = parseTemplate(written);
      if (isTemplateProblem(template)) {
        at.refuse(node, name, template.problem);
        return undefined;
      }
      return bounded({ text: template }, { node, at, name });
    },
  };
}

/** A map whose strings are filled in. */
export function bodyJson(): FieldType<BodyContent> {
  return {
    accepts: `a map whose texts have placeholders, nested at most ${BODY_DEPTH_MAX} deep`,
    schema: { type: 'object' },
    mistakes: [
      { write: 'gold', says: 'must be a map, not text' },
      { write: '{ limit: "{limt}" }', ...UNKNOWN },
      {
        write: '{ limit: {limit} }',
        says: 'is a map in YAML; put quotes around it: "{limit}"',
        unseen: UNKNOWN.unseen ?? '',
      },
    ],
    read(node, at, name) {
      if (node.kind !== 'map') {
        at.refuse(node, name, `must be a map, not ${kindOf(node)}`);
        return undefined;
      }
      // Every node takes at least one byte of JSON, so the size of unfolded aliases is known before unfolding them.
      if (node.size > BODY_BYTES_MAX || isDeeper(node, BODY_DEPTH_MAX)) {
        at.refuse(node, name, node.size > BODY_BYTES_MAX ? TOO_LONG : `is nested more than ${BODY_DEPTH_MAX} deep; nest it less`);
        return undefined;
      }
      const path = joinPath(at.path, name);
      if (!areTemplates(node, { path, at })) return undefined;
      return bounded({ json: toJsonParts(toObject(node, { path, problems: at.problems })) }, { node, at, name });
    },
  };
}

/** Instead of `text` a text, instead of `json` a map. */
export function bodyNeverFits(): FieldType<BodyContent> {
  const [asText, asJson] = [bodyText(), bodyJson()];
  return {
    accepts: 'text or a map, as `text` or `json` beside it',
    schema: { anyOf: [{ type: ['string', 'number', 'boolean'] }, { type: 'object' }] },
    mistakes: [{ write: '[a]', says: 'must be text, not a list' }],
    read: (node, at, name) => (node.kind === 'map' ? asJson : asText).read(node, at, name),
  };
}

/** A browser shows none of them as a page. */
const JSON_TYPES = /^application\/(?:[a-z0-9!#$&^_.-]{1,64}\+)?json$/;

export function jsonContentType(): FieldType<string> {
  return textLike({
    accepts: 'a media type of JSON: `application/json`, or one that ends with `+json`',
    schema: { type: 'string', pattern: JSON_TYPES.source },
    parse: (type) => (JSON_TYPES.test(type) ? type : undefined),
    refusal: (type) =>
      `${JSON.stringify(type)} is not a media type of JSON; use application/json, or one such as application/vnd.shop+json`,
    wrong: [{ write: 'text/html' }],
  });
}

interface Place {
  readonly node: ConfigNode;
  readonly at: FieldReader;
  readonly name: string;
}

function bounded(content: BodyContent, { node, at, name }: Place): BodyContent | undefined {
  if (contentBytesMax(content) <= BODY_BYTES_MAX) return content;
  at.refuse(node, name, TOO_LONG);
  return undefined;
}

/** Reports every text that cannot be a template, at its place. */
function areTemplates(node: ConfigNode, { path, at }: { readonly path: string; readonly at: FieldReader }): boolean {
  const problem = faultOf(node);
  if (problem !== undefined) {
    at.problems.report({ offset: node.offset, path, message: problem });
    return false;
  }
  let areGood = true;
  for (const [part, child] of childrenOf(node, path)) areGood = areTemplates(child, { path: part, at }) && areGood;
  return areGood;
}

function* childrenOf(node: ConfigNode, path: string): Generator<readonly [path: string, child: ConfigNode]> {
  if (node.kind === 'map') for (const [name, { value }] of node.fields) yield [joinPath(path, name), value];
  if (node.kind !== 'list') return;
  let index = 0;
  for (const item of node.items) yield [`${path}[${index++}]`, item];
}

function faultOf(node: ConfigNode): string | undefined {
  if (node.kind === 'map') return unquotedPlaceholder(node);
  if (node.kind === 'list') return undefined;
  const template = parseTemplate(node.text);
  return isTemplateProblem(template) ? template.problem : undefined;
}

/** In YAML, `{limit}` without quotes is a map with an empty value. */
function unquotedPlaceholder({ fields }: MapNode): string | undefined {
  const [[name, field] = []] = fields;
  if (fields.size !== 1 || name === undefined || field === undefined || !isNull(field.value)) return undefined;
  const isMeant = isPlaceholderName(name) || name.startsWith('entry.');
  return isMeant ? `is a map in YAML; put quotes around it: "{${name}}"` : undefined;
}
