/** The type of `RESPONSE_BODY`: a word, a text, or JSON, with placeholders. */

import {
  BODY_BYTES_MAX,
  BODY_DEPTH_MAX,
  BODY_WORDS,
  bodyOfWord,
  contentBytesMax,
  JSON_TYPE,
  TEXT_TYPE,
  toJsonParts,
  type BodyContent,
  type BodyJson,
  type ResponseBody,
} from '../../../domain/rule/body/response-body';
import { isTemplateProblem, parseTemplate } from '../../../domain/rule/body/template';
import type { Parsed, SettingType } from './setting-types';

const FORM = /^(text|json):(.*)$/s;

export function responseBody(): SettingType<ResponseBody> {
  return {
    accepts: 'off, problem, text:TEXT or json:{"name":"value"}',
    form: { kind: 'text' },
    parse(written) {
      const word = BODY_WORDS.find((each) => each === written.toLowerCase());
      if (word !== undefined) return { value: bodyOfWord(word) };
      const [, kind, template = ''] = FORM.exec(written) ?? [];
      if (kind === undefined) return undefined;
      const content = kind === 'text' ? textOf(template) : jsonOf(template);
      if ('refusal' in content) return content;
      if (contentBytesMax(content.value) > BODY_BYTES_MAX)
        return { refusal: `it may become longer than ${BODY_BYTES_MAX} bytes; shorten it` };
      return {
        value:
          kind === 'text'
            ? { kind, contentType: TEXT_TYPE, content: content.value }
            : { kind: 'json', contentType: JSON_TYPE, content: content.value },
      };
    },
  };
}

function textOf(written: string): Parsed<BodyContent> {
  const template = parseTemplate(written);
  return isTemplateProblem(template) ? { refusal: `it ${template.problem}` } : { value: { text: template } };
}

function jsonOf(written: string): Parsed<BodyContent> {
  const json = parsed(written);
  if (json === undefined) return { refusal: 'it is not a JSON object after json:' };
  const problem = problemOf(json, BODY_DEPTH_MAX);
  return problem === undefined ? { value: { json: toJsonParts(json) } } : { refusal: `it ${problem}` };
}

function parsed(written: string): BodyJson | undefined {
  try {
    const json = JSON.parse(written) as BodyJson;
    return typeof json === 'object' && json !== null && !Array.isArray(json) ? json : undefined;
  } catch {
    return undefined;
  }
}

function problemOf(json: BodyJson, depthMax: number): string | undefined {
  if (typeof json === 'string') {
    const template = parseTemplate(json);
    return isTemplateProblem(template) ? template.problem : undefined;
  }
  if (typeof json !== 'object' || json === null) return undefined;
  if (depthMax === 0) return `is nested more than ${BODY_DEPTH_MAX} deep; nest it less`;
  for (const value of Object.values<BodyJson>(json)) {
    const problem = problemOf(value, depthMax - 1);
    if (problem !== undefined) return problem;
  }
  return undefined;
}
