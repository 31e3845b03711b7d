/** What a change leaves behind besides its own rows. */

/** One line of activity. `uid` is the account whose log it belongs to; left out, it is the actor's own. */
export interface ActivityRecord {
  readonly action: string;
  readonly detail: string;
  readonly uid?: string;
  readonly sid?: string;
  readonly wid?: string;
}

/** Long work on a server that the caller can follow. */
export interface OperationRecord {
  readonly oid: string;
  readonly sid: string;
  readonly generation: string;
  readonly type: string;
  readonly resource_type: string;
  readonly resource_id: string;
}
