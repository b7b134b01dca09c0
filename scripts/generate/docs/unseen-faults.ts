/** Errors that the JSON Schema cannot find, beside those of single fields in the table, and why. */

export interface UnseenFault {
  /** The error without its place; `…` stands for any text. */
  readonly says: string;
  readonly why: string;
}

const COMPARES = 'a schema cannot compare places';
const ONE_FILE = 'a schema sees one file';
const COUNTS = 'a schema does not count levels or bytes';
const PLACEHOLDERS = 'a schema cannot read placeholders';
const TEXT = 'a schema sees values, not the text of the file';

export const UNSEEN_FAULTS: readonly UnseenFault[] = [
  { says: '… is configured twice here: …', why: COMPARES },
  { says: 'uses … over the same window as the limit …', why: COMPARES },
  { says: '… is not a key of this descriptor; use one of …', why: COMPARES },
  { says: '… has a single value here, so all requests would share one slot; …', why: COMPARES },
  { says: '… has a single value here, so the stage would have all requests or none; …', why: COMPARES },
  { says: '… has share_threshold, so its values share a bucket, …', why: COMPARES },
  { says: 'differs from the rollout of another limit here; …', why: COMPARES },
  { says: 'unknown plan …; …', why: COMPARES },
  { says: 'needs plans, which the domain does not have; …', why: COMPARES },
  { says: 'needs a descriptor for many tenants, and … is a single one; …', why: COMPARES },
  { says: 'conflicts with …: the plan has the limits; …', why: COMPARES },
  { says: '… both configure it; …', why: ONE_FILE },
  { says: 'applies to the whole domain, but …', why: ONE_FILE },
  { says: 'descriptors are nested more than … deep, …', why: COUNTS },
  { says: 'the YAML is nested more than … deep', why: COUNTS },
  { says: 'is nested more than … deep; callers may fail to parse answers with it', why: COUNTS },
  { says: 'is longer than … bytes as JSON; …', why: COUNTS },
  { says: 'is nested more than … deep; nest it less', why: COUNTS },
  { says: 'may become longer than … bytes when it is filled in; …', why: COUNTS },
  { says: 'has the unknown placeholder …; …', why: PLACEHOLDERS },
  { says: 'has a single …; write … to show one', why: PLACEHOLDERS },
  { says: 'is a map in YAML; put quotes around it: …', why: PLACEHOLDERS },
  { says: '… is not a number in JSON; put it in quotes to have it as text', why: 'a schema sees no numbers beyond those of JSON' },
  { says: '… is not a whole number; write …', why: 'JSON has no difference between 5.0 and 5' },
  { says: 'U+… is …; …', why: TEXT },
  { says: 'holds half of a surrogate pair; write the whole character', why: TEXT },
  { says: '… tags have no meaning here, so remove it', why: TEXT },
  { says: 'given twice: …; keep one', why: TEXT },
  { says: 'is also set by the << below it, …', why: TEXT },
  { says: 'has no …, which the map merged by << has: …', why: TEXT },
];
