"""What local servers share: who may talk to them, and how they are run."""
