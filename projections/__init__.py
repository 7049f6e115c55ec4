"""Projections: contexts, audits, trees and other views, computed from a session's events."""
