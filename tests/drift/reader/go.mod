module rescheduler.test/drift

go 1.26.0
